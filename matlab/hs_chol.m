function [R, p] = hs_chol(A, triangle, workers)
%HS_CHOL  Cholesky factorisation on cores of unequal speed.
%   R = HS_CHOL(A) is upper triangular with R'*R = A, for a full matrix A of class double or single, symmetric or Hermitian and
%   positive definite. Only its upper triangle is read: that A is symmetric is not checked.
%
%   L = HS_CHOL(A, 'lower') is lower triangular with L*L' = A, and only the lower triangle of A is read.
%
%   If A is not positive definite, the error hetsched:notPositiveDefinite names the order of the first leading minor that is not.
%   [R, p] = HS_CHOL(...) gives that order as p instead, and the factor of A(1:p-1, 1:p-1); p is 0 if A is positive definite.
%
%   HS_CHOL(..., WORKERS) uses that many threads; see HS_MTIMES.
%
%   Errors: hetsched:notPositiveDefinite, hetsched:type, hetsched:size, hetsched:value, hetsched:usage, hetsched:memory.
%
%   Example:
%      B = rand(500); A = hs_mtimes(B, B, 'tn') + eye(500);
%      R = hs_chol(A);
%
%   See also hs_mldivide, hs_lu, hs_mtimes.
error('hetsched:notBuilt', 'hs_chol is not built yet: run build.m, which stands beside it');
