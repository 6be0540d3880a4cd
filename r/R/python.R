# The way to Python and back. Columns go as raw vectors, because a reticulate
# before 1.38 cannot pass arrays of NumPy 2.

.quorate <- new.env(parent = emptyenv())

bridge <- function() {
  if (is.null(.quorate$module)) {
    .quorate$module <- tryCatch(
      reticulate::import_from_path(
        "quorate_for_r",
        path = system.file("python", package = "quorate", mustWork = TRUE)
      ),
      error = function(problem) {
        stop(
          "the Python package quorate is needed and was not found: ",
          "run install_quorate(), or choose a Python that has it by ",
          "reticulate::use_python() before the first call. Python says: ",
          message_of(problem), call. = FALSE
        )
      }
    )
  }
  .quorate$module
}

# A message of Python without the name of the error.
message_of <- function(problem) {
  lines <- strsplit(conditionMessage(problem), "\n", fixed = TRUE)[[1]]
  lines <- lines[nzchar(lines) & !grepl("^Run `reticulate::py_last_error", lines)]
  sub("^[A-Za-z_.]*(Error|Exception|Interrupt): ", "", paste(lines, collapse = "\n"))
}

ask <- function(name, ...) {
  module <- bridge()
  found <- tryCatch(
    module$call(name, ...),
    error = function(problem) stop(message_of(problem), call. = FALSE)
  )
  for (text in found$warnings) warning(text, call. = FALSE)
  found$value
}

#' Whether the Python package can be used
quorate_available <- function() {
  !inherits(try(bridge(), silent = TRUE), "try-error")
}

install_quorate <- function(...) {
  reticulate::py_install("quorate[plot]", pip = TRUE, ...)
}

# A column of a data frame or matrix, as the module quorate_for_r reads it.
as_column <- function(values, name) {
  if (is.numeric(values) && !is.factor(values)) {
    values <- as.double(values)
    values[is.na(values)] <- NaN
    return(list(name = name, kind = "numbers", data = writeBin(values, raw())))
  }
  known <- if (is.factor(values)) droplevels(values) else factor(values)
  codes <- as.integer(known) - 1L
  codes[is.na(codes)] <- -1L
  list(
    name = name, kind = "codes", data = writeBin(codes, raw()),
    levels = as.list(levels(known))
  )
}

as_columns <- function(table, what) {
  if (is.matrix(table)) {
    titles <- colnames(table)
    columns <- lapply(seq_len(ncol(table)), function(place) table[, place])
  } else if (is.data.frame(table) || is.list(table)) {
    titles <- names(table)
    columns <- unname(lapply(table, identity))
  } else if (is.atomic(table) && !is.null(table)) {
    titles <- NULL
    columns <- list(table)
  } else {
    stop(what, " must be a data frame or a matrix, got ", class(table)[1], ".", call. = FALSE)
  }
  if (!length(columns)) stop(what, " has no columns.", call. = FALSE)
  for (place in seq_along(columns)) {
    if (!is.atomic(columns[[place]])) {
      stop(what, " must have columns of numbers, texts or factors; column ", place, " is a ",
        class(columns[[place]])[1], ".",
        call. = FALSE
      )
    }
  }
  if (length(unique(lengths(columns))) > 1) {
    stop(what, " must have columns of one length, got ", paste(lengths(columns), collapse = ", "), ".", call. = FALSE)
  }
  if (is.null(titles)) titles <- paste("run", seq_along(columns))
  titles <- make.unique(ifelse(is.na(titles) | titles == "", paste("run", seq_along(columns)), titles))
  Map(as_column, columns, titles, USE.NAMES = FALSE)
}

# Row names that were given; those that R counts by itself are none.
object_names <- function(table) {
  if (is.data.frame(table)) {
    if (.row_names_info(table) > 0L) row.names(table) else NULL
  } else if (is.matrix(table)) {
    rownames(table)
  } else if (is.list(table)) {
    if (length(table)) names(table[[1]])
  } else {
    names(table)
  }
}

as_members <- function(labels, options = list()) {
  if (inherits(labels, "python.builtin.object")) {
    return(labels)
  }
  if (inherits(labels, "quorate_model")) {
    return(labels$members)
  }
  ids <- object_names(labels)
  ask("ensemble", as_columns(labels, "labels"), if (is.null(ids)) NULL else as.list(ids), named(options))
}

as_features <- function(features) {
  if (is.null(features)) NULL else ask("features", as_columns(features, "features"))
}

# Options as a mapping also if there are none: an empty list of R is a list of Python.
named <- function(options) {
  if (length(options) && (is.null(names(options)) || any(names(options) == ""))) {
    stop("options must have names, such as method = \"eac\".", call. = FALSE)
  }
  do.call(reticulate::dict, options)
}

whole <- function(data) readBin(data, "integer", length(data) %/% 4L)
real <- function(data) readBin(data, "double", length(data) %/% 8L)

# Clusters of Python, numbered from 0 with -1 for none, as those of R.
clusters <- function(data, ids) {
  labels <- whole(data)
  stats::setNames(ifelse(labels < 0L, NA_integer_, labels + 1L), ids)
}

seed_of <- function(seed) if (is.null(seed)) NULL else as.integer(seed)
