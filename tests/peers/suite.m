# Octave's own tests of its linear algebra and of what is built on it: "file passed of" for each file, and in the end "end".
c = fullfile (__octave_config_info__ ("octtestsdir"), "libinterp", "corefcn");
files = {};
for name = {"__eigs__", "__qp__", "balance", "chol", "data", "det", "dot", "eig", "givens", "gsvd", "hess", "inv", "kron", "lu", ...
            "matrix_type", "mgorth", "ordqz", "ordschur", "pinv", "qr", "quad", "qz", "rcond", "schur", "sparse-xpow", "sqrtm", ...
            "svd", "sylvester", "tril"}
  files{end+1} = fullfile (c, [name{1} ".cc-tst"]);
endfor
for folder = {"linear-algebra", "optimization", "polynomial", "special-matrix", "statistics", "signal"}
  found = glob (fullfile (fileparts (fileparts (which ("expm"))), folder{1}, "*.m"));
  files = [files, found'];
endfor
for i = 1:numel (files)
  rand ("twister", 1);
  randn ("twister", 1);
  if (exist (files{i}, "file"))
    [passed, all] = test (files{i}, "quiet", tempname ());
    [~, name, ending] = fileparts (files{i});
    printf ("\n@ %s%s %d %d\n", name, ending, passed, all);
  endif
endfor
printf ("\n@ end 0 0\n");
