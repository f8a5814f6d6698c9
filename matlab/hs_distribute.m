function [counts, makespan] = hs_distribute(n, cycle_times)
%HS_DISTRIBUTE  Equal chunks for workers of unequal speed.
%   COUNTS = HS_DISTRIBUTE(N, CYCLE_TIMES) deals N chunks to workers that take CYCLE_TIMES(i) for one, so that the last of them
%   ends as early as possible: max(COUNTS .* CYCLE_TIMES) is least, and exactly so. An infinite cycle time gets nothing. COUNTS has
%   the shape of CYCLE_TIMES.
%
%   [COUNTS, MAKESPAN] = HS_DISTRIBUTE(...) gives the time when the last one ends.
%
%   Errors: hetsched:type, hetsched:size, hetsched:value, hetsched:usage, hetsched:memory.
%
%   Example:
%      [counts, makespan] = hs_distribute(78, [3 5 8])   % 40 24 14, and 120
%
%   See also hs_partition.
error('hetsched:notBuilt', 'hs_distribute is not built yet: run build.m, which stands beside it');
