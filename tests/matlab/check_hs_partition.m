function cost = cost_of_best(areas), [~, cost] = hs_partition(areas); end
methods = {'best', 'guillotine', 'interval', 'columns', 'nonrectangular', 'snrpp', 'nagamochi-abe', 'mohammadi-behroozi', 'recursive', 'kaddoura', 'kalinov-lastovetsky', 'rows', 'contiguous'};
lists = {[8 5 3 2 2], 1, [1 1], [0 3 0 1], [1 20], [0.05 0.05 0.08 0.1 0.1 0.12 0.2 0.3]', sqrt(1:14)};
for i = 1:10, lists{end+1} = exp(randn(1, ceil(6 * rand()))); end
for list = lists, for method = methods
  a = list{1}(:); share = a / sum(a); name = sprintf('%s of %d', method{1}, numel(a));
  if ~strcmp(method{1}, 'contiguous')
    [r, cost, bound, c] = hs_partition(share, method{1});
    check(['areas ' name], all(abs(sum(r(:, 3, :) .* r(:, 4, :), 3) - share) < 1e-12) && all(r(a == 0, :)(:) == 0));
    check(['cost ' name], c.value == cost && c.bound == bound && bound <= cost && (size(r, 3) > 1 || abs(cost - sum(sum(r(:, 3:4)))) < 1e-12));
    printf('value\t%s\t%s\tsquare\t%s\t%.17g %.17g %d\t%s\t%s\n', method{1}, mat2str(share', 17), c.method, cost, bound, c.optimal, c.scope, mat2str(r(:)', 17));
  end
  [q, cells, least, c] = hs_partition(share, method{1}, [60 90]); owner = zeros(60, 90);
  for page = 1:size(q, 3), for i = find(q(:, 3, page))'
    place = {q(i, 1, page) + (0 : q(i, 3, page)-1), q(i, 2, page) + (0 : q(i, 4, page)-1)}; owner(place{:}) += 1;
  end, end
  check(['tiles ' name], isequal(size(owner), [60 90]) && all(owner(:) == 1) && least <= cells);
  printf('value\t%s\t%s\tmatrix\t%s\t%.17g %.17g %d\t%s\t%s\n', method{1}, mat2str(share', 17), c.method, cells, least, c.optimal, c.scope, mat2str(q(:)', 17));
end, end
check('many', abs(sum(prod(hs_partition(1:2000, 'recursive')(:, 3:4), 2)) - 1) < 1e-9);
[~, plain] = hs_partition([1 20]); check('around', abs(plain - (2 + 2 / sqrt(21))) < 1e-12);
% options
[~, sum_cost] = hs_partition([3 2 1], 'best', [], struct('link_costs', [4 1 1])); [~, cost] = hs_partition([3 2 1]);
check('link_costs', sum_cost > cost);
[~, most] = hs_partition([3 2 1], 'best', [], struct('objective', 'max')); check('objective', most < cost);
[~, together, ~, c] = hs_partition([3 2 1 1], 'best', [], struct('groups', [1 1 2 2], 'group_cost', 2));
check('groups', strcmp(c.method, 'interval') && together > cost_of_best([3 2 1 1]));
[r, ~, ~, c] = hs_partition([1 1 1 1], 'columns', [], struct('columns', 4)); check('columns', all(r(:, 3) == 1) && strcmp(c.method, 'columns'));
[~, first] = hs_partition(sqrt(1:14), 'best', [], struct('seed', 3, 'budget', 0)); check('budget', first <= 1.01 * cost_of_best(sqrt(1:14)));
refused('none', 'usage', 'hs_partition(areas', @() hs_partition());
refused('method', 'value', 'squares', @() hs_partition([1 2], 'squares'));
refused('search', 'value', 'search', @() hs_partition([1 2], 'search'));
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
refused('no shape', 'value', 'contiguous', @() hs_partition([1 2], 'contiguous'));
for shape = {[1 0], [1.5 1], 3, [1 2 3], [NaN 1], [1; -1]}
  refused('shape', 'value', 'shape', @() hs_partition([1 1], 'best', shape{1}));
end
refused('options', 'type', 'options', @() hs_partition([1 1], 'best', [], 3));
refused('unknown option', 'value', 'weights', @() hs_partition([1 1], 'best', [], struct('weights', [1 1])));
refused('costs of one', 'size', 'link_costs', @() hs_partition([1 1], 'best', [], struct('link_costs', 1)));
refused('cost zero', 'value', 'link_costs', @() hs_partition([1 1], 'best', [], struct('link_costs', [1 0])));
refused('group 0', 'value', 'groups', @() hs_partition([1 1], 'best', [], struct('groups', [0 1])));
refused('objective', 'value', 'objective', @() hs_partition([1 1], 'best', [], struct('objective', 'least')));
refused('columns', 'value', 'columns', @() hs_partition([1 1], 'columns', [], struct('columns', 1.5)));
