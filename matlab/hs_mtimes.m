function C = hs_mtimes(A, B, op, workers)
%HS_MTIMES  Matrix product on cores of unequal speed.
%   C = HS_MTIMES(A, B) is A*B for full matrices of class double or single, real or complex. A product of double and single is
%   single. If A or B is a scalar, it is A.*B.
%
%   C = HS_MTIMES(A, B, OP) transposes nothing in memory: OP has a letter for A and one for B, 'n' for the matrix as it is, 't'
%   for A.' and 'c' for A'. HS_MTIMES(A, A, 'tn') is A.'*A at half the work, exactly symmetric, where A is real.
%
%   C = HS_MTIMES(..., WORKERS) uses that many threads. Without it there is one for each core that the process may use, at most
%   HETSCHED_NUM_THREADS of the environment. They share the work by what each gets done, so that a core that is busy with
%   something else does less. They are kept for the next call; CLEAR HS_MTIMES ends them.
%
%   Errors: hetsched:type, hetsched:size, hetsched:value, hetsched:usage, hetsched:memory.
%
%   Example:
%      A = rand(500, 400); B = rand(400, 600);
%      norm(hs_mtimes(A, B) - A*B)
%
%   See also hs_mldivide, hs_chol, hs_lu, hs_partition, hs_distribute.
error('hetsched:notBuilt', 'hs_mtimes is not built yet: run build.m, which stands beside it');
