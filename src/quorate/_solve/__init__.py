"""One named method on the rows of an ensemble.

- `run_method`: which method suits an ensemble; one method for one number of clusters: options, memory, order of
  members and rows, duration, `refine`.
- `own_method`: functions of the user as methods.
- `procedure`: how a labelling was made, and how that is repeated on some of the objects, on halves of the members, and
  until the answer is clear.
"""
