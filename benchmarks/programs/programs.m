% octave-cli --no-history programs.m NAME SECONDS: as run.py, for programs in Octave.
1;  % a script, not the file of a function

function work = dense()
  n = 1500; a = rand(n); b = rand(n); p = a' * a + n * eye(n);
  work = @() {a * b, a' * a, a \ b, chol(p), inv(a), det(a)};
end

function work = eig_svd()
  a = rand(300); b = rand(500);
  work = @() with_vectors(a, b);
end

function with_vectors(a, b)
  [v, d] = eig(a);
  [u, s, w] = svd(b);
end

function mean = mean_seconds(work, least)
  repetitions = 0; start = tic;
  do
    work(); repetitions += 1;
  until toc(start) >= least
  mean = toc(start) / repetitions;
end

rand("seed", 1);
work = feval(argv(){1});
printf("ready\n"); fflush(stdout);
if !ischar(fgetl(stdin)), exit; end  % the benchmark has ended
mean_seconds(work, 0.15);
printf("%.9f\n", mean_seconds(work, str2double(argv(){2})));
