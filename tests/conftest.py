"""One thing only: kernels run as plain Python (make coverage) overflow on purpose, as hashes do."""

import numba
import numpy as np

if numba.config.DISABLE_JIT:
    np.seterr(over="ignore")
