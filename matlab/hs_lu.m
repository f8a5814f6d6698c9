function [L, U, P] = hs_lu(A, outputs, workers)
%HS_LU  LU factorisation with partial pivoting on cores of unequal speed.
%   [L, U, P] = HS_LU(A) has P*A = L*U, for a full matrix A of class double or single, real or complex, of any shape: L is lower
%   triangular with ones on its diagonal, U upper triangular, P a permutation matrix, full and of class double.
%
%   [L, U, p] = HS_LU(A, 'vector') has A(p, :) = L*U, with a row of indices.
%
%   [L, U] = HS_LU(A) has A = L*U, where the rows of L are permuted.
%
%   Y = HS_LU(A) has U, and below its diagonal L without its ones.
%
%   HS_LU(..., WORKERS) uses that many threads; see HS_MTIMES.
%
%   Errors: hetsched:type, hetsched:size, hetsched:value, hetsched:usage, hetsched:memory. A singular A is none.
%
%   Example:
%      A = rand(500);
%      [L, U, p] = hs_lu(A, 'vector');
%      norm(A(p, :) - L*U)
%
%   See also hs_mldivide, hs_chol.
error('hetsched:notBuilt', 'hs_lu is not built yet: run build.m, which stands beside it');
