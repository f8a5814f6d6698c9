# Rscript programs.R NAME SECONDS: as run.py, for programs in R.
dense <- function() {
  n <- 1500; a <- matrix(rnorm(n * n), n); b <- matrix(rnorm(n * n), n); p <- crossprod(a) + n * diag(n)
  function() list(a %*% b, crossprod(a), solve(a, b), chol2inv(chol(p)))
}

principal_components <- function() {
  x <- matrix(rnorm(2000 * 300), 2000)
  function() prcomp(x)
}

mean_seconds <- function(work, least) {
  repetitions <- 0; start <- as.numeric(Sys.time())
  repeat {
    work(); repetitions <- repetitions + 1
    passed <- as.numeric(Sys.time()) - start
    if (passed >= least) return(passed / repetitions)
  }
}

arguments <- commandArgs(TRUE)
set.seed(1)
work <- get(arguments[1])()
cat("ready\n"); flush(stdout())
input <- file("stdin"); line <- readLines(input, 1); close(input)
if (length(line) == 0) quit()  # the benchmark has ended
invisible(mean_seconds(work, 0.15))
cat(sprintf("%.9f\n", mean_seconds(work, as.numeric(arguments[2]))))
