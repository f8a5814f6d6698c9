function bench(n, repeats)
%BENCH  The gateways beside the host's own operations: the best of some repeats, in seconds.
%   BENCH(N, REPEATS) is for matrices of N rows, 2000 unless given, and so many repeats, 9 unless given.
  if nargin < 1
    n = 2000;
  end
  if nargin < 2
    repeats = 9;
  end
  A = rand(n);
  b = rand(n, 5);
  S = A'*A + n*eye(n);
  s = single(A);
  z = complex(A, S);
  pairs = {
    'A*B',                   @() A*S,             @() hs_mtimes(A, S)
    'A*B, single',           @() s*s,             @() hs_mtimes(s, s)
    'A*B, complex',          @() z*z,             @() hs_mtimes(z, z)
    'A''*A',                 @() A'*A,            @() hs_mtimes(A, A, 'tn')
    'A\b',                   @() A\b,             @() hs_mldivide(A, b)
    'chol(A)',               @() chol(S),         @() hs_chol(S)
    'chol(A, ''lower'')',    @() chol(S, 'lower'), @() hs_chol(S, 'lower')
    '[L, U, p], ''vector''', @() three(@lu, A, 'vector'), @() three(@hs_lu, A, 'vector')
    '[L, U, P]',             @() three(@lu, A),   @() three(@hs_lu, A)};
  fprintf('%-22s %8s %8s %6s\n', sprintf('n = %d', n), 'host', 'hetsched', 'ratio');
  for i = 1:size(pairs, 1)
    taken = inf(1, 2);
    for r = 1:repeats % side by side, so that a busy moment of the machine meets both
      for k = 1:2
        start = tic;
        pairs{i, k+1}();
        taken(k) = min(taken(k), toc(start));
      end
    end
    fprintf('%-22s %8.4f %8.4f %6.2f\n', pairs{i, 1}, taken, taken(1) / taken(2));
  end
end

function x = three(f, varargin)
  [x, ~, ~] = f(varargin{:});
end
