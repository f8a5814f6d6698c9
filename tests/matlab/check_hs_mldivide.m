for kind = kinds, for other = kinds, for n = [1 2 17 65], for k = [1 3]
  A = make(n, n, kind{1}) + 2*sqrt(n)*eye(n); B = make(n, k, other{1}); a0 = A + 0; b0 = B + 0;
  name = sprintf('%s %s %d %d', kind{1}, other{1}, n, k);
  check(name, near(hs_mldivide(A, B), A\B, 200) && isequal(A, a0) && isequal(B, b0));
  U = triu(A); L = tril(A);
  check(['upper ' name], near(hs_mldivide(U, B), U\B, 400));
  check(['lower ' name], near(hs_mldivide(L, B), L\B, 400));
end, end, end, end
for kind = kinds, for shape = {[2 1], [9 4], [40 10], [300 7], [33 32]}
  m = shape{1}(1); n = shape{1}(2); A = make(m, n, kind{1}); A(1:n, 1:n) += 3*eye(n); B = make(m, 2, kind{1});
  check(sprintf('least squares %s %d %d', kind{1}, m, n), near(hs_mldivide(A, B), A\B, 2000));
end, end
for shape = {[0 0 2], [0 3 2], [3 0 2], [3 3 0], [5 3 0]}
  s = shape{1}; X = hs_mldivide(zeros(s(1), s(2)), zeros(s(1), s(3)));
  check(sprintf('empty %d %d %d', s), isequal(X, zeros(s(2), s(3))));
end
A = make(200, 200, 'd') + 10*eye(200); b = A*ones(200, 1);
check('silent', isempty(warned(@() hs_mldivide(A, b))) && isempty(warned(@() hs_mldivide(diag([1 1e-10]), [1; 1]))));
for workers = 1:3, check('workers', near(hs_mldivide(A, b, workers), ones(200, 1), 1e4)); end
check('singular', strcmp(warned(@() hs_mldivide([1 1; 1 1], [1; 2])), 'hetsched:singular'));
check('singular triangle', strcmp(warned(@() hs_mldivide([1 1; 0 0], [1; 2])), 'hetsched:singular') ...
      && any(isinf(hs_mldivide([1 1; 0 0], [1; 2]))));
check('nearly', strcmp(warned(@() hs_mldivide(magic(4), ones(4, 1))), 'hetsched:nearlySingular'));
check('nearly, a triangle', strcmp(warned(@() hs_mldivide([1 1; 0 1e-20], [1; 2])), 'hetsched:nearlySingular'));
check('nearly, single', strcmp(warned(@() hs_mldivide(single([1 1; 1 1+2^-23]), [1; 2])), 'hetsched:nearlySingular'));
check('not nearly', isempty(warned(@() hs_mldivide([1 1; 1 1+2^-23], [1; 2]))));
check('NaN', strcmp(warned(@() hs_mldivide([1 NaN; 2 1], [1; 2])), 'hetsched:nearlySingular'));
check('rank', strcmp(warned(@() hs_mldivide([magic(4); magic(4)], ones(8, 1))), 'hetsched:rankDeficient'));
check('rank, few rows', strcmp(warned(@() hs_mldivide([1 1; 1 1; 1 1], ones(3, 1))), 'hetsched:rankDeficient'));
% The estimate is at most the norm of the inverse, and seldom much less: rcond is that of Octave, which estimates as well.
for kind = kinds, for power = [-8 -16 -24]
  A = make(30, 30, kind{1}); A(:, 1) = A(:, 2) + cast(10^power, class(A)) * A(:, 3); few = rcond(A) < eps(class(A));
  id = warned(@() hs_mldivide(A, ones(30, 1)));
  check(sprintf('condition %s %d', kind{1}, power), few == strncmp(id, 'hetsched:', 9));
end, end
% The number that the warning has, where the inverse is known and has two large columns that cancel in most sums.
for kind = kinds([1 3])
  v = ones(30, 1); v(2:8:30) = -1; if any(kind{1} == 'c'), v(1:3:30) = 1i; end, v(9) = v(5);
  w = zeros(30, 1); w([5 9]) = [1 -1]; A = eye(30) - 1e7 * v * w'; inverse = eye(30) + 1e7 * v * w';
  warned(@() hs_mldivide(A, ones(30, 1))); found = sscanf(lastwarn(), 'hs_mldivide: A is close to singular: rcond = %f');
  check(['estimate ' kind{1}], abs(found * norm(A, 1) * norm(inverse, 1) - 1) < 0.1);
end
refused('rows', 'size', '2 and 3', @() hs_mldivide(eye(2), ones(3, 1)));
refused('wide', 'size', '2 x 3', @() hs_mldivide(ones(2, 3), ones(2, 1)));
refused('sparse', 'type', 'A', @() hs_mldivide(sparse(1), 1));
refused('int', 'type', 'B', @() hs_mldivide(1, int8(1)));
refused('workers', 'value', 'workers', @() hs_mldivide(2, 1, 0));
refused('one', 'usage', 'X = hs_mldivide(A, B', @() hs_mldivide(1));
