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
      grade = found$grade, verdict = found$verdict, stability = stability_of(found$stability)
    ),
    class = "quorate_scores"
  )
}

stability_of <- function(found) {
  if (is.null(found)) {
    return(NULL)
  }
  data.frame(
    cluster = unlist(found$cluster), objects = whole(found$objects), stability = real(found$stability),
    meaning = unlist(found$meaning)
  )
}

print.quorate_scores <- function(x, digits = 4, ...) {
  cat(paste(strwrap(x$verdict), collapse = "\n"), "\n\n", sep = "")
  values <- vapply(x$scores, format, "", digits = digits)
  print(data.frame(score = values, row.names = gsub("_", " ", names(x$scores))))
  if (!is.null(x$stability)) {
    cat("\n")
    print(x$stability, row.names = FALSE, digits = 3)
  }
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
