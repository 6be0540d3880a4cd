"""What tries to break Quorate: cases written as data, damaged files, faults of the system, and long runs.

`make fuzz` and `make soak` run for as long as one likes and write what they measured to results.json, from which
docs/reliability.md is made. The tests run a small share of the same code: tests/test_corpus.py, tests/test_fuzz.py,
tests/test_faults.py and tests/test_load.py.
"""
