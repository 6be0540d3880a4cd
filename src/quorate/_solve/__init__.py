"""One named method on the rows of an ensemble.

- `auto`: which method suits an ensemble, and why.
- `run_method`: one method for one number of clusters: options, memory, order of members and rows, duration, `refine`.
- `resample`: some of the objects, two halves of the members, and draws that go on until the answer is clear.
- `procedure`: how a labelling was made, and how that is repeated on some of the objects and members.
"""
