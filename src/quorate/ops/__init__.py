"""The only numba code: arrays in, arrays out. Each kernel has a slow obvious twin in tests/oracle.py."""
