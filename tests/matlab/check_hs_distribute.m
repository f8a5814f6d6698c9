for n = [0 1 7 78 1000], for list = {[3 5 8], 1, [1 1 1]', [2.5 Inf 0.1], 1:40}
  t = list{1}; [counts, makespan] = hs_distribute(n, t);
  busy = counts > 0;
  check('sum', sum(counts) == n && isequal(size(counts), size(t)) && all(counts >= 0));
  check('makespan', makespan == max([counts(busy)(:) .* t(busy)(:); 0]));
  printf('value\t%d\t%s\t%s\n', n, mat2str(t(:)', 17), mat2str(counts(:)'));
end, end
check('large', sum(hs_distribute(2^53, [1 1])) == 2^53);
refused('one', 'usage', 'hs_distribute(n', @() hs_distribute(1));
for n = {-1, 1.5, NaN, [1 2], [], 1i, 2^54}, refused('n', 'value', 'n must', @() hs_distribute(n{1}, 1)); end
refused('n int', 'type', 'n', @() hs_distribute(int8(1), 1));
refused('zero', 'value', 'cycle_times(2) is 0', @() hs_distribute(1, [1 0]));
refused('NaN', 'value', 'cycle_times(1)', @() hs_distribute(1, NaN));
refused('infinite', 'value', 'cycle_times', @() hs_distribute(1, [Inf Inf]));
refused('empty', 'size', 'cycle_times', @() hs_distribute(1, []));
refused('single', 'type', 'cycle_times', @() hs_distribute(1, single(1)));
