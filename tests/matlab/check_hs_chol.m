for kind = kinds, for n = [0 1 2 17 65 130]
  B = make(n, n, kind{1}); A = B'*B + n*eye(n); A = (A + A') / 2; a0 = A + 0; name = sprintf('%s %d', kind{1}, n);
  R = hs_chol(A); L = hs_chol(A, 'lower'); junk = cast(NaN, class(A));
  check(name, (n == 0 || near(R, chol(A), 100)) && isequal(R, triu(R)) && isa(R, class(A)) && isequal(A, a0));
  check(['lower ' name], near(L, R', 100) && isequal(L, tril(L)));
  check(['product ' name], near(R'*R, A, 20 * (n + 1)));
  [R2, p] = hs_chol(A);
  check(['two outputs ' name], isequal(R2, R) && p == 0);
  N = A; N(tril(true(n), -1)) = junk; M = A; M(triu(true(n), 1)) = junk;
  check(['one triangle is read ' name], isequal(hs_chol(N), R) && isequal(hs_chol(M, 'lower'), L));
  if n > 2
    A(3, 3) = -1; [R, p] = hs_chol(A); [L, q] = hs_chol(A, 'lower', 2); right = chol(A(1:2, 1:2));
    check(['minor ' name], p == 3 && q == 3 && near(R, right, 100) && near(L, right', 100));
    refused(name, 'notPositiveDefinite', 'order 3', @() hs_chol(A));
  end
end, end
[R, p] = hs_chol(-1); check('first minor', p == 1 && isequal(size(R), [0 0]));
refused('zero', 'notPositiveDefinite', 'order 1', @() hs_chol(0));
refused('shape', 'size', '2 x 3', @() hs_chol(ones(2, 3)));
refused('triangle', 'value', 'triangle', @() hs_chol(1, 'middle'));
refused('sparse', 'type', 'A', @() hs_chol(sparse(1)));
refused('none', 'usage', 'hs_chol(A', @() hs_chol());
