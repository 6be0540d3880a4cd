# ConsensusClusterPlus beside quorate::over_k on the data of the R package's vignette: Rscript benchmarks/peers/consensusclusterplus.R
# It needs both packages in R; the figures are quoted in r/vignettes and docs/coming-from/r.md.
suppressMessages({
  library(ConsensusClusterPlus)
  library(quorate)
})

rand <- function(a, b) {
  pairs <- function(counts) sum(choose(counts, 2))
  both <- pairs(table(a, b))
  expected <- pairs(table(a)) * pairs(table(b)) / choose(length(a), 2)
  (both - expected) / ((pairs(table(a)) + pairs(table(b))) / 2 - expected)
}

data_of <- function(seed) {
  set.seed(seed)
  subtype <- rep(c("A", "B", "C"), c(40, 30, 20))
  shift <- matrix(rnorm(200 * 3) * (seq_len(200) <= 60), 200)
  colnames(shift) <- c("A", "B", "C")
  d <- shift[, subtype] + matrix(rnorm(200 * 90), 200)
  dimnames(d) <- list(paste("gene", 1:200), paste("sample", 1:90))
  list(d = sweep(d, 1, apply(d, 1, median)), subtype = subtype)
}

ambiguous <- function(matrix) {
  pairs <- matrix[upper.tri(matrix)]
  mean(pairs > 0.1 & pairs < 0.9)
}

pdf(NULL)
over_k(t(data_of(1)$d), 2:3, n_members = 5, seed = 1) # compiles the kernels
lines <- list()
for (seed in 1:5) {
  at <- data_of(seed)
  theirs <- system.time(invisible(capture.output(suppressMessages(
    old <- ConsensusClusterPlus(at$d, maxK = 6, reps = 50, pItem = 0.8, clusterAlg = "km", distance = "euclidean", seed = seed)
  ))))
  ours <- system.time(new <- over_k(t(at$d), 2:6, n_members = 50, rows = 0.8, method = "eac", seed = seed))
  for (k in 2:6) {
    labels <- new$results[[as.character(k)]]$cluster
    lines[[length(lines) + 1]] <- data.frame(
      seed = seed, k = k,
      ari_theirs = rand(old[[k]]$consensusClass, at$subtype), ari_ours = rand(labels, at$subtype),
      ari_between = rand(old[[k]]$consensusClass, labels),
      pac_theirs = ambiguous(old[[k]]$consensusMatrix), pac_ours = new$table$pac[new$table$n_clusters == k],
      seconds_theirs = sum(theirs[1:2]), seconds_ours = sum(ours[1:2])
    )
  }
}
table <- do.call(rbind, lines)
cat("ConsensusClusterPlus", format(packageVersion("ConsensusClusterPlus")), "\n")
print(aggregate(. ~ k, table[names(table) != "seed"], mean), digits = 3)
write.csv(format(table, digits = 4, trim = TRUE), "benchmarks/peers/consensusclusterplus.csv", row.names = FALSE, quote = FALSE)
