function X = hs_mldivide(A, B, workers)
%HS_MLDIVIDE  Systems of equations and least squares on cores of unequal speed.
%   X = HS_MLDIVIDE(A, B) is A\B for full matrices of class double or single, real or complex; single if one is.
%
%   A square: by substitution if it is a triangle, else by LU with partial pivoting. The host's backslash also tries Cholesky's
%   factorisation, HS_CHOL, which is half the work. A warning, hetsched:singular, says that a pivot is zero, and X has Inf and
%   NaN; hetsched:nearlySingular that the reciprocal condition number, as estimated, is below EPS of the class.
%
%   A with more rows than columns: the X with least norm(A*X - B) for each column, by QR without pivoting. The warning
%   hetsched:rankDeficient says that A is not of full rank; the host's backslash then gives another X.
%
%   A with fewer rows than columns is refused, hetsched:size.
%
%   X = HS_MLDIVIDE(A, B, WORKERS) uses that many threads; see HS_MTIMES.
%
%   Errors: hetsched:type, hetsched:size, hetsched:value, hetsched:usage, hetsched:memory.
%
%   Example:
%      A = rand(500) + 10*eye(500);
%      x = hs_mldivide(A, A*ones(500, 1));
%
%   See also hs_lu, hs_chol, hs_mtimes.
error('hetsched:notBuilt', 'hs_mldivide is not built yet: run build.m, which stands beside it');
