labelling <- function(result) {
  if (inherits(result, "quorate")) {
    return(result$python)
  }
  if (inherits(result, "python.builtin.object")) {
    return(result)
  }
  if (!is.atomic(result) || is.null(result)) {
    stop("result must be what consensus() returns, or one label for each object, got ", class(result)[1], ".",
      call. = FALSE
    )
  }
  ask("column", as_column(result, "labels"))
}

members_of <- function(result, labels) {
  if (!is.null(labels)) {
    return(as_members(labels))
  }
  if (inherits(result, "quorate")) {
    return(result$members)
  }
  stop("labels must be given: the clusterings that the result is compared with.", call. = FALSE)
}

truth_of <- function(truth) if (is.null(truth)) NULL else as_column(truth, "truth")

evaluate <- function(result, labels = NULL, truth = NULL, null = NULL, features = NULL, ...) {
  options <- list(...)
  if (!is.null(null)) options$null <- null
  found <- ask(
    "evaluate", labelling(result), members_of(result, labels), truth_of(truth), as_features(features), named(options)
  )
  structure(
    list(
      scores = stats::setNames(real(found$values), unlist(found$names)),
      grade = found$grade, verdict = found$verdict, stability = found$stability
    ),
    class = "quorate_scores"
  )
}

print.quorate_scores <- function(x, digits = 4, ...) {
  cat(paste(strwrap(x$verdict), collapse = "\n"), "\n\n", sep = "")
  print(data.frame(score = signif(x$scores, digits)))
  if (!is.null(x$stability)) cat("\n", x$stability, "\n", sep = "")
  invisible(x)
}

report <- function(result, path, labels = NULL, truth = NULL, features = NULL, ..., open = FALSE) {
  written <- ask(
    "report", labelling(result), members_of(result, labels), path.expand(path), truth_of(truth),
    as_features(features), named(list(...))
  )
  if (open) utils::browseURL(written)
  invisible(written)
}
