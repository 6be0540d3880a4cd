need_python <- function() skip_if_not(quorate_available(), "the Python package quorate is not installed")

segments <- data.frame(
  marketing = c("deals", "deals", "gifts", "gifts", NA),
  web = c(1, 1, 2, 2, 2),
  shop = factor(c("a", "a", "b", "b", "b")),
  row.names = c("Ann", "Bob", "Cem", "Dora", "Eli")
)

test_that("a consensus has clusters from 1 with the names of the objects", {
  need_python()
  result <- consensus(segments, 2, seed = 0)
  expect_identical(result$cluster, c(Ann = 1L, Bob = 1L, Cem = 2L, Dora = 2L, Eli = 2L))
  expect_identical(names(result$confidence), row.names(segments))
  expect_true(all(result$confidence >= 0 & result$confidence <= 1))
  table <- as.data.frame(result)
  expect_identical(row.names(table), row.names(segments))
  expect_identical(levels(table$cluster), c("1", "2"))
})

test_that("matrices, lists, factors and texts say the same", {
  need_python()
  numbers <- cbind(c(1, 1, 2, 2, NA), c(7, 7, 3, 3, 3), c(0, 0, 5, 5, 5))
  texts <- matrix(as.character(numbers), 5)
  expected <- unname(consensus(segments, 2, seed = 0)$cluster)
  expect_identical(consensus(numbers, 2, seed = 0)$cluster, expected)
  expect_identical(consensus(texts, 2, seed = 0)$cluster, expected)
  expect_identical(consensus(unname(as.list(segments)), 2, seed = 0)$cluster, expected)
  expect_null(names(consensus(numbers, 2)$cluster))
})

test_that("a value may stand for a missing label, beside NA", {
  need_python()
  zeros <- cbind(c(1, 1, 2, 2, 0), c(1, 1, 2, 2, 2))
  expect_identical(max(consensus(zeros, 2, missing = 0, seed = 0)$cluster), 2L)
  expect_error(consensus(cbind(c(1, 1, 0), c(1, 2, 0)), 2, missing = 0), "no label|without")
})

test_that("the random numbers of R stay as they are", {
  need_python()
  set.seed(3)
  expected <- runif(1)
  set.seed(3)
  consensus(segments, 2, seed = 0)
  expect_identical(runif(1), expected)
})

test_that("a number that is left out is chosen, and the reason is printed", {
  need_python()
  set.seed(1)
  runs <- sapply(1:20, function(run) kmeans(iris[1:4], sample(3:6, 1))$cluster)
  result <- consensus(runs, 2:5, seed = 0)
  expect_true(result$n_clusters %in% 2:5)
  expect_match(result$choice, "clusters: ")
  expect_output(print(result), "Consensus of 150 objects")
  expect_output(print(summary(result)), "Confidence")
})

test_that("errors of Python are errors of R, in their words", {
  need_python()
  expect_error(consensus(segments, 9), "^n_clusters = 9 is more than")
  expect_error(consensus(iris[1:4], 3), "measurements")
  expect_error(consensus(segments, 2, method = "no such method"), "^method must")
  expect_error(consensus(segments, 2, 3), "must have names")
})

test_that("warnings of Python are warnings of R", {
  need_python()
  found <- quorate:::ask("version")
  expect_match(found, "^[0-9]+[.]")
  reticulate::py_run_string("import quorate_for_r, warnings\nquorate_for_r.FUNCTIONS['warn'] = lambda: warnings.warn('look')")
  expect_warning(quorate:::ask("warn"), "look")
})

test_that("tables that are none are refused before Python sees them", {
  expect_error(quorate:::as_columns(NULL, "labels"), "labels must be a data frame or a matrix, got NULL")
  expect_error(quorate:::as_columns(list(), "labels"), "labels has no columns")
  expect_error(quorate:::as_columns(list(1:3, 1:2), "labels"), "columns of one length, got 3, 2")
  expect_error(quorate:::as_columns(list(list(1, 2)), "labels"), "column 1 is a list")
})
