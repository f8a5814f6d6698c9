function [rects, cost, bound] = hs_partition(areas, method, shape)
%HS_PARTITION  Rectangles of given areas, with short borders.
%   RECTS = HS_PARTITION(AREAS) divides the unit square among workers: only the proportions of AREAS count, and the workers'
%   speeds are what they are for. Row i is [row, col, height, width] of worker i, from the upper left corner on, all zero if its
%   area is 0.
%
%   [RECTS, COST, BOUND] = HS_PARTITION(...) gives the sum of height + width over the workers, what they need of the operands of a
%   product, and a number that no zones of these areas are below.
%
%   HS_PARTITION(AREAS, METHOD): 'best' (the cheapest of all those below that such a number of workers allows in short time),
%   'columns' (the best full columns), 'guillotine' (the best cuts from side to side, for up to 16 workers), 'interval' (the same
%   for workers sorted by area, up to 1024), and the rules 'nagamochi-abe', 'recursive', 'kaddoura', 'kalinov-lastovetsky' and
%   'rows'. The Python package's "best" also searches, and knows zones that are no rectangles.
%
%   HS_PARTITION(AREAS, METHOD, [m n]) gives whole cells of an m-by-n matrix, which row and col count from 1: worker i has
%   A(row : row+height-1, col : col+width-1). Cost and bound are of the areas that the cells come to.
%
%   Errors: hetsched:type, hetsched:size, hetsched:value, hetsched:infeasible, hetsched:unsupported, hetsched:usage,
%   hetsched:memory.
%
%   Example:
%      [rects, cost, bound] = hs_partition([8 5 3 2 2], 'best', [1000 1000])
%
%   See also hs_distribute, hs_mtimes.
error('hetsched:notBuilt', 'hs_partition is not built yet: run build.m, which stands beside it');
