for kind = kinds, for m = [0 1 2 17 65], for n = [0 1 3 40 65]
  A = make(m, n, kind{1}); a0 = A + 0; k = min(m, n); name = sprintf('%s %d %d', kind{1}, m, n);
  [L, U, P] = hs_lu(A); [l, u, p] = hs_lu(A, 'vector'); [pL, U2] = hs_lu(A); Y = hs_lu(A);
  check(name, near(L*U, P*A, 20 * (k + 1)) && isequal(A, a0) && isa(U, class(A)));
  check(['shapes ' name], isequal({size(L), size(U), size(P), size(p)}, {[m k], [k n], [m m], [1 m]}));
  check(['triangles ' name], isequal(L, tril(L)) && isequal(U, triu(U)) && all(L(logical(eye(m, k))) == 1));
  check(['multipliers ' name], k == 0 || max(abs(L(:))) <= 2); % of complex numbers those of LAPACK may be above 1
  check(['vector ' name], isequal(P*A, A(p, :)) && isequal(l, L) && isequal(u, U));
  check(['two outputs ' name], isequal(P*pL, L) && isequal(U2, U));
  check(['one output ' name], isequal(size(Y), [m n]));
  if k, check(['one output ' name], isequal(triu(Y)(1:k, :), U) && isequal(tril(Y(:, 1:k), -1), tril(L, -1))); end
  if k && strcmp(kind{1}, 'd'), [~, ~, Q] = lu(A); check(['pivots ' name], isequal(P, full(Q))); end
end, end, end
[L, U, P] = hs_lu(zeros(3)); check('singular', isequal(L, eye(3)) && isequal(U, zeros(3)) && isequal(P, eye(3)));
refused('outputs', 'value', 'outputs', @() hs_lu(1, 'pair'));
refused('sparse', 'type', 'A', @() hs_lu(sparse(1)));
refused('workers', 'value', 'workers', @() hs_lu(1, 'vector', 0));
refused('none', 'usage', 'hs_lu(A', @() hs_lu());
