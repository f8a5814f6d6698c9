methods = {'best', 'guillotine', 'interval', 'columns', 'nagamochi-abe', 'recursive', 'kaddoura', 'kalinov-lastovetsky', 'rows'};
for list = {[8 5 3 2 2], 1, [1 1], [0 3 0 1], [0.05 0.05 0.08 0.1 0.1 0.12 0.2 0.3]', sqrt(1:14)}, for method = methods
  a = list{1}(:); [r, cost, bound] = hs_partition(list{1}, method{1}); name = sprintf('%s of %d', method{1}, numel(a));
  check(['areas ' name], all(abs(r(:, 3) .* r(:, 4) - a / sum(a)) < 1e-12) && all(r(a == 0, :)(:) == 0));
  check(['cost ' name], abs(cost - sum(sum(r(:, 3:4)))) < 1e-12 && bound <= cost);
  [q, cells, least] = hs_partition(list{1}, method{1}, [60 90]); owner = zeros(60, 90);
  for i = find(q(:, 3))', place = {q(i, 1) + (0 : q(i, 3)-1), q(i, 2) + (0 : q(i, 4)-1)}; owner(place{:}) += 1; end
  check(['tiles ' name], isequal(size(owner), [60 90]) && all(owner(:) == 1) && sum(sum(q(:, 3:4))) == cells && least <= cells);
  printf('value\t%s\t%s\t%.15g %.15g %.15g %.15g\n', method{1}, mat2str(a', 17), cost, bound, cells, least);
end, end
check('many', abs(sum(prod(hs_partition(1:2000)(:, 3:4), 2)) - 1) < 1e-9);
refused('none', 'usage', 'hs_partition(areas', @() hs_partition());
refused('method', 'value', 'squares', @() hs_partition([1 2], 'squares'));
refused('method number', 'type', 'method', @() hs_partition([1 2], 3));
refused('negative', 'value', 'areas(2) is -1', @() hs_partition([1 -1]));
refused('NaN', 'value', 'areas(1)', @() hs_partition([NaN 1]));
refused('zeros', 'value', 'areas', @() hs_partition([0 0]));
refused('overflow', 'value', 'areas', @() hs_partition([1e308 1e308]));
refused('matrix', 'size', 'areas', @() hs_partition(ones(2)));
refused('empty', 'size', 'areas', @() hs_partition([]));
refused('single', 'type', 'areas', @() hs_partition(single(1)));
refused('complex', 'type', 'areas', @() hs_partition([1i 1]));
refused('too many', 'unsupported', 'guillotine', @() hs_partition(1:17, 'guillotine'));
refused('cells', 'infeasible', 'shape', @() hs_partition([1 1 1], 'best', [1 2]));
for shape = {[1 0], [1.5 1], 3, [1 2 3], [NaN 1], [1; -1]}
  refused('shape', 'value', 'shape', @() hs_partition([1 1], 'best', shape{1}));
end
