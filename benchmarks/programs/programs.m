% octave programs.m REPEATS: the seconds of each repetition.
repeats = str2double(argv(){1});
rand("seed", 1);
n = 1500; a = rand(n); b = rand(n); p = a' * a + n * eye(n);
for i = 0:repeats
  tic;
  c = a * b; d = a' * a; x = a \ b; r = chol(p); v = inv(a); t = det(a);
  seconds = toc;
  if i, printf("%.6f\n", seconds); end
end
