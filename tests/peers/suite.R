# R's own examples: all of stats, those of matrices in base, and the demo of linear models. Before each "@ topic", behind it
# "@ passed" or "@ failed", in the end "@ topic end".
options(warn = -1, digits = 6, device = function(...) pdf(NULL))
pdf(NULL)
matrices <- c("backsolve", "chol", "chol2inv", "crossprod", "det", "diag", "eigen", "kappa", "kronecker", "lower.tri", "matmult",
              "norm", "outer", "qr", "qr.X", "solve", "svd", "scale", "rcond")
topics <- list(base = matrices, stats = sort(unique(unname(readRDS(system.file("help", "aliases.rds", package = "stats"))))))
attempt <- function(name, call) {
    cat("\n@ topic", name, "\n")
    cat(tryCatch({ call(); "\n@ passed\n" }, error = function(e) paste("\n", conditionMessage(e), "\n@ failed\n")))
}
for (package in names(topics)) for (topic in topics[[package]])
    attempt(paste0(package, "::", topic),
            function() example(topic, package = package, character.only = TRUE, ask = FALSE, echo = TRUE, setRNG = TRUE,
                               local = TRUE, run.dontrun = FALSE))
attempt("demo(lm.glm)", function() demo("lm.glm", package = "stats", ask = FALSE))
cat("\n@ topic end\n")
