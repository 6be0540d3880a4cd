"""The judge of labellings: sets and candidates that it is fitted on, and how it does on those that it never saw."""
