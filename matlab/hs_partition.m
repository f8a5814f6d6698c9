function [rects, cost, bound, certificate] = hs_partition(areas, method, shape, options)
%HS_PARTITION  Zones of given areas, with short borders.
%   RECTS = HS_PARTITION(AREAS) divides the unit square among workers. Only the proportions of AREAS count; they are the workers'
%   speeds. Row i is [row, col, height, width] of worker i, from the upper left corner on, all zero if its area is 0. If a zone is
%   not a rectangle, RECTS has three dimensions: RECTS(i, :, k) is the k-th rectangle of worker i, all zero after its last one.
%
%   [RECTS, COST, BOUND] = HS_PARTITION(...) also returns the sum of height + width over the workers' zones, which is the amount
%   of both operands of a product that the workers need, and a lower bound on the cost of any zones of these areas.
%
%   [RECTS, COST, BOUND, CERTIFICATE] = HS_PARTITION(...) also returns a struct: method (the one that found the zones), value
%   (the cost), bound, gap, optimal, and scope (the class of plans within which these zones are proven optimal, '' for none).
%
%   HS_PARTITION(AREAS, METHOD): 'best' (the best of all methods, improved by a search), 'columns' (the best full columns),
%   'interval' (the best cuts from side to side of the list sorted by area, for up to 1024 workers), 'guillotine' (the best of all
%   such cuts, up to 16 workers), 'nonrectangular' and 'snrpp' (zones around other zones), 'contiguous' (runs of cells; needs
%   SHAPE), and the rules 'nagamochi-abe', 'mohammadi-behroozi', 'recursive', 'kaddoura', 'kalinov-lastovetsky' and 'rows'. These are the methods of
%   the Python package, with the same results.
%
%   HS_PARTITION(AREAS, METHOD, [m n]) gives whole cells of an m-by-n matrix. Row and col count from 1: a rectangle is
%   A(row : row+height-1, col : col+width-1). Cost and bound are those of the areas in cells. [] stands for the unit square.
%
%   HS_PARTITION(AREAS, METHOD, SHAPE, OPTIONS): a struct with any of the fields
%      link_costs  weights > 0 of the workers' height + width
%      groups      a number from 1 on for each worker: the workers of a group lie in one rectangle ('best' and 'interval')
%      group_cost  weight of the height + width of a group's rectangle, default 1
%      objective   'sum', or 'max' to minimise the largest height + width
%      columns     number of columns for 'columns'
%      seed        of the search of 'best', default 0
%      budget      seconds for that search; default: a fixed amount of work
%
%   Errors: hetsched:type, hetsched:size, hetsched:value, hetsched:infeasible, hetsched:unsupported, hetsched:usage,
%   hetsched:memory.
%
%   Example:
%      [rects, cost, bound] = hs_partition([8 5 3 2 2], 'best', [1000 1000])
%
%   See also hs_distribute, hs_mtimes.
error('hetsched:notBuilt', 'hs_partition is not built yet: run build.m, which stands beside it');
