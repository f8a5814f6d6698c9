for m = [0 1 2 17 65], for k = [0 1 3 130], for n = [0 1 5 33]
  for a = kinds, for b = kinds
    A = make(m, k, a{1}); B = make(k, n, b{1}); a0 = A + 0; b0 = B + 0;
    name = sprintf('%s %s %d %d %d', a{1}, b{1}, m, k, n);
    check(name, near(hs_mtimes(A, B), A*B, 8 * (k + 1)) && isequal(A, a0) && isequal(B, b0));
  end, end
end, end, end
for a = 'ntc', for b = 'ntc', for kind = kinds, for other = kinds
  A = applied(make(7, 40, kind{1}), a); B = applied(make(40, 9, other{1}), b);
  check([a b ' ' kind{1} ' ' other{1}], near(hs_mtimes(A, B, [a b]), applied(A, a) * applied(B, b), 400));
end, end, end, end
for kind = kinds
  A = make(90, 31, kind{1});
  for op = {'tn', 'cn', 'nt', 'nc'}
    C = hs_mtimes(A, A, op{1});
    check(['gram ' op{1} ' ' kind{1}], near(C, applied(A, op{1}(1)) * applied(A, op{1}(2)), 400));
    check(['symmetric ' op{1} ' ' kind{1}], any(kind{1} == 'c') || isequal(C, C'));
  end
end
A = make(31, 31, 'd');
check('its own square', near(hs_mtimes(A, A), A*A, 400));
check('scalars', isequal(hs_mtimes(3, A), 3*A) && isequal(hs_mtimes(A, single(2)), A*single(2)) && isequal(hs_mtimes(2, 3), 6));
check('kinds of matrices', isequal(hs_mtimes(eye(31), A), A) && isequal(hs_mtimes(A, eye(31)(:, [2 1 3:31])), A(:, [2 1 3:31])));
check('ranges', isequal(hs_mtimes(1:31, ones(31, 1)), 496));
check('NaN and Inf', isequaln(hs_mtimes([1 NaN], [1; 0]), NaN) && isequal(hs_mtimes([1 2], [Inf; 1]), Inf));
check('complex Inf', isequal(imag(hs_mtimes(complex(0, Inf), 1)), Inf));
A = make(300, 300, 'd'); C = hs_mtimes(A, A);
for workers = [1 2 3], check(sprintf('%d workers', workers), near(hs_mtimes(A, A, workers), C, 3000)); end
clear hs_mtimes
check('after clear', near(hs_mtimes(A, A, 'nn', 2), C, 3000));
refused('no B', 'usage', 'C = hs_mtimes(A, B', @() hs_mtimes(1));
refused('five', 'usage', 'C = hs_mtimes(A, B', @() hs_mtimes(1, 2, 'nn', 1, 1));
refused('two words', 'usage', 'op', @() hs_mtimes(1, 2, 'nn', 'nn'));
refused('two numbers', 'usage', 'workers', @() hs_mtimes(1, 2, 1, 1));
refused('sparse', 'type', 'A', @() hs_mtimes(sparse(A), A));
refused('int', 'type', 'B', @() hs_mtimes(A, int8(3)));
refused('logical', 'type', 'A', @() hs_mtimes(true, A));
refused('char', 'type', 'A', @() hs_mtimes('a', A));
refused('cell', 'type', 'B', @() hs_mtimes(A, {1}));
refused('three dimensions', 'size', 'B', @() hs_mtimes(A, ones(2, 2, 2)));
refused('inner', 'size', '3 x 2', @() hs_mtimes(ones(2), ones(3, 2)));
refused('inner of op', 'size', '3 x 2', @() hs_mtimes(ones(2), ones(2, 3), 'nt'));
refused('op', 'value', 'op', @() hs_mtimes(A, A, 'nx'));
refused('long op', 'value', 'op', @() hs_mtimes(A, A, repmat('n', 1, 99)));
for workers = {0, 1.5, -1, NaN, Inf, 1e6, [1 2], []}
  refused('workers', 'value', 'workers', @() hs_mtimes(A, A, workers{1}));
end
