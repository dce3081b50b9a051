"""saxpy on numba's CUDA simulator, one element per thread. Prints elements per second.

    NUMBA_ENABLE_CUDASIM=1 python3 saxpy.py [SECONDS]
"""

import os
import sys
import time

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numba  # noqa: E402
import numpy as np  # noqa: E402
from numba import cuda  # noqa: E402


@cuda.jit
def saxpy(n, a, x, y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < n:
        y[i] = a * x[i] + y[i]


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    n, block = 4096, 128
    x = np.arange(n, dtype=np.float32)
    y = np.ones(n, dtype=np.float32)
    dx, dy = cuda.to_device(x), cuda.to_device(y)
    saxpy[n // block, block](n, np.float32(2), dx, dy)  # the first is not timed
    if not np.array_equal(dy.copy_to_host(), 2 * x + 1):
        sys.exit("saxpy.py: the result is wrong")
    best, end = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        saxpy[n // block, block](n, np.float32(2), dx, dy)
        best = max(best, n / (time.perf_counter() - start))
    print(f"numba {numba.__version__} {best:.0f}")


main()
