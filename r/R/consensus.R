as_result <- function(found, ids, call, extra = character()) {
  result <- list(
    cluster = clusters(found$cluster, ids),
    confidence = if (!is.null(found$confidence)) stats::setNames(real(found$confidence), ids),
    runner_up = if (!is.null(found$runner_up)) clusters(found$runner_up, ids),
    stability = if (!is.null(found$stability)) real(found$stability),
    method = found$method,
    objective = found$objective,
    converged = found$converged,
    choice = found$choice,
    call = call,
    python = found$python
  )
  result$n_clusters <- if (all(is.na(result$cluster))) 0L else max(result$cluster, na.rm = TRUE)
  structure(result, class = c(extra, "quorate"))
}

consensus <- function(labels, n_clusters = "auto", ..., features = NULL, missing = -1, seed = NULL) {
  members <- as_members(labels, list(missing = missing))
  found <- ask(
    "consensus", members, n_clusters, named(c(list(...), list(random_state = seed_of(seed)))), as_features(features)
  )
  result <- as_result(found, object_names(labels), match.call())
  result$members <- members
  result
}

ensemble_clustering <- function(x, n_clusters = "auto", ..., seed = NULL) {
  table <- as_features(x)
  found <- ask("ensemble_clustering", table, n_clusters, named(c(list(...), list(random_state = seed_of(seed)))))
  result <- as_result(found, object_names(x), match.call(), "quorate_model")
  result$members <- found$members
  result$model <- found$model
  result$columns <- colnames(x)
  result
}

predict.quorate_model <- function(object, newdata, ...) {
  if (!is.null(object$columns) && !is.null(colnames(newdata)) && !identical(object$columns, colnames(newdata))) {
    absent <- setdiff(object$columns, colnames(newdata))
    if (length(absent)) {
      stop("newdata must have the columns of the data, and lacks ", paste(absent, collapse = ", "), ".", call. = FALSE)
    }
    newdata <- newdata[, object$columns, drop = FALSE]
  }
  clusters(ask("predict", object$model, as_features(newdata)), object_names(newdata))
}

print.quorate <- function(x, ...) {
  cat("Consensus of ", length(x$cluster), " objects in ", x$n_clusters,
    ngettext(x$n_clusters, " cluster", " clusters"), " (method ", x$method, ")\n\n",
    sep = ""
  )
  print(sizes(x), row.names = FALSE)
  if (anyNA(x$cluster)) cat("\n", sum(is.na(x$cluster)), " objects belong to no cluster (NA).\n", sep = "")
  if (!is.null(x$choice)) cat("\n", paste(strwrap(x$choice), collapse = "\n"), "\n", sep = "")
  invisible(x)
}

sizes <- function(x) {
  numbers <- seq_len(x$n_clusters)
  table <- data.frame(cluster = numbers, objects = tabulate(x$cluster, x$n_clusters))
  if (!is.null(x$stability)) table$stability <- round(x$stability, 3)
  if (!is.null(x$confidence)) {
    table$confidence <- vapply(numbers, function(k) round(mean(x$confidence[which(x$cluster == k)]), 3), 0)
  }
  table
}

summary.quorate <- function(object, ambiguous = 0.6, ...) {
  confidence <- object$confidence
  structure(
    list(
      result = object,
      sizes = sizes(object),
      ambiguous = ambiguous,
      confidence = if (!is.null(confidence)) summary(confidence),
      unsure = if (!is.null(confidence)) {
        as.data.frame(object)[which(confidence < ambiguous), , drop = FALSE]
      }
    ),
    class = "summary.quorate"
  )
}

print.summary.quorate <- function(x, ...) {
  print(x$result)
  if (!is.null(x$confidence)) {
    cat("\nConfidence: how probably an object would be in the same cluster with new clusterings\n")
    print(x$confidence)
    cat("\n", nrow(x$unsure), " of ", length(x$result$cluster), " objects have a confidence below ", x$ambiguous,
      if (nrow(x$unsure)) "; the least sure are:" else ".", "\n",
      sep = ""
    )
    if (nrow(x$unsure)) print(utils::head(x$unsure[order(x$unsure$confidence), , drop = FALSE]))
  }
  invisible(x)
}

as.data.frame.quorate <- function(x, row.names = NULL, optional = FALSE, ...) {
  numbers <- seq_len(max(1L, x$n_clusters))
  table <- data.frame(cluster = factor(x$cluster, levels = numbers))
  if (!is.null(x$confidence)) table$confidence <- unname(x$confidence)
  if (!is.null(x$runner_up)) table$runner_up <- factor(x$runner_up, levels = numbers)
  if (is.null(row.names)) row.names <- names(x$cluster)
  if (!is.null(row.names)) rownames(table) <- row.names
  table
}

plot.quorate <- function(x, main = "Confidence of each object", xlab = "objects, by cluster", ylab = "confidence", ...) {
  colours <- hcl.colors(max(2L, x$n_clusters), "Dark 3")
  if (is.null(x$confidence)) {
    barplot(tabulate(x$cluster, x$n_clusters),
      names.arg = seq_len(x$n_clusters), col = colours, main = "Objects of each cluster", xlab = "cluster", ...
    )
    return(invisible(x))
  }
  order <- order(x$cluster, -x$confidence, na.last = NA)
  barplot(unname(x$confidence[order]),
    col = colours[x$cluster[order]], border = NA, space = 0, ylim = c(0, 1), main = main, xlab = xlab, ylab = ylab, ...
  )
  legend("bottomleft", legend = seq_len(x$n_clusters), fill = colours, title = "cluster", bg = "white", cex = 0.8)
  invisible(x)
}
