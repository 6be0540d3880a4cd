"""`python -m quorate` is the shell tool."""

import sys

from quorate.cli import main

if __name__ == "__main__":
    sys.exit(main())
