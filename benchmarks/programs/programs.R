# Rscript programs.R REPEATS: the seconds of each repetition.
repeats <- as.integer(commandArgs(TRUE)[1])
set.seed(1)
n <- 1500; a <- matrix(rnorm(n * n), n); b <- matrix(rnorm(n * n), n); p <- crossprod(a) + n * diag(n)
for (i in 0:repeats) {
  seconds <- system.time({ c <- a %*% b; d <- crossprod(a); x <- solve(a, b); r <- chol(p); v <- chol2inv(r) })[["elapsed"]]
  if (i) cat(sprintf("%.6f\n", seconds))
}
