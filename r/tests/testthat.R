library(testthat)
library(quorate)

test_check("quorate")
