over_k <- function(x, n_clusters = 2:6, n_members = 50, rows = 0.8, ..., seed = NULL) {
  options <- c(list(n_members = n_members, rows = rows, random_state = seed_of(seed)), list(...))
  found <- ask("over_k", as_features(x), n_clusters, named(options))
  ids <- object_names(x)
  numbers <- unlist(found$numbers)
  results <- lapply(found$results, as_result, ids = ids, call = match.call())
  names(results) <- numbers
  structure(
    list(
      table = as.data.frame(lapply(found$table, real)),
      numbers = numbers,
      results = results,
      cdf = stats::setNames(
        lapply(found$cdf, function(at) data.frame(index = real(at$index), share = real(at$share))), numbers
      ),
      names = ids,
      call = match.call(),
      matrix = function(k) {
        values <- real(ask("matrix", found$python, number_of(k, numbers)))
        side <- as.integer(round(sqrt(length(values))))
        matrix(values, side, side, dimnames = if (!is.null(ids)) list(ids, ids))
      },
      item_consensus = function(k) {
        values <- real(ask("item_consensus", found$python, number_of(k, numbers)))
        columns <- results[[as.character(k)]]$n_clusters
        matrix(values, ncol = columns, byrow = TRUE, dimnames = list(ids, paste("cluster", seq_len(columns))))
      }
    ),
    class = "quorate_over_k"
  )
}

number_of <- function(k, numbers) {
  if (length(k) != 1L || !k %in% numbers) {
    stop("k must be one of ", paste(numbers, collapse = ", "), ", got ", paste(k, collapse = ", "), ".", call. = FALSE)
  }
  k
}

print.quorate_over_k <- function(x, ...) {
  cat("Consensus clustering of ", nrow(as.data.frame(x)), " objects for ", length(x$numbers),
    " numbers of clusters\n\n",
    sep = ""
  )
  print(round(x$table, 4), row.names = FALSE)
  cat("\npac is the share of pairs of objects that are together in some clusterings only; low is good, but it falls",
    "with k also where there are no clusters.\n"
  )
  invisible(x)
}

as.data.frame.quorate_over_k <- function(x, row.names = NULL, optional = FALSE, ...) {
  table <- as.data.frame(lapply(x$results, function(result) unname(result$cluster)), optional = TRUE)
  names(table) <- paste0("k", x$numbers)
  if (is.null(row.names)) row.names <- x$names
  if (!is.null(row.names)) rownames(table) <- row.names
  table
}

plot.quorate_over_k <- function(x, which = c("cdf", "delta", "tracking", "matrix"), k = NULL, ...) {
  which <- match.arg(which)
  switch(which,
    cdf = plot_cdf(x, ...),
    delta = plot_delta(x, ...),
    tracking = plot_tracking(x, ...),
    matrix = plot_matrix(x, k, ...)
  )
  invisible(x)
}

plot_cdf <- function(x, main = "Distribution of the consensus index", ...) {
  colours <- hcl.colors(max(2L, length(x$numbers)), "Dark 3")
  plot(c(0, 1), c(0, 1), type = "n", xlab = "consensus index", ylab = "share of pairs", main = main, ...)
  for (place in seq_along(x$cdf)) {
    at <- x$cdf[[place]]
    lines(c(0, at$index, 1), c(0, at$share, 1), type = "s", col = colours[place], lwd = 2)
  }
  legend("bottomright", legend = x$numbers, col = colours, lwd = 2, title = "k", bg = "white")
}

plot_delta <- function(x, main = "Relative gain of area", ...) {
  plot(x$table$n_clusters, x$table$delta_area,
    type = "b", pch = 19, xlab = "number of clusters", ylab = "gain of area", main = main, ...
  )
  abline(h = 0, lty = 3)
}

plot_tracking <- function(x, main = "Clusters of each object", ...) {
  table <- as.matrix(as.data.frame(x))
  order <- do.call(order, as.data.frame(table[, rev(seq_len(ncol(table))), drop = FALSE]))
  image(seq_len(nrow(table)), seq_len(ncol(table)), table[order, , drop = FALSE],
    col = hcl.colors(max(table, 2L, na.rm = TRUE), "Dark 3"), axes = FALSE, xlab = "objects", ylab = "number of clusters",
    main = main, ...
  )
  axis(2, at = seq_len(ncol(table)), labels = x$numbers)
  box()
}

plot_matrix <- function(x, k = NULL, main = NULL, ...) {
  if (is.null(k)) stop("k must be given: one of ", paste(x$numbers, collapse = ", "), ".", call. = FALSE)
  values <- x$matrix(k)
  known <- values
  known[is.na(known)] <- 0
  order <- hclust(as.dist(1 - known), "average")$order
  if (is.null(main)) main <- paste("Consensus matrix, k =", k)
  image(values[order, rev(order)],
    col = hcl.colors(50, "Blues", rev = TRUE), zlim = c(0, 1), axes = FALSE, asp = 1, main = main, ...
  )
}
