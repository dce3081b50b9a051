"""PyTorch, and Go in the same process through a C library: one primary context.

    CGO_ENABLED=1 go build -buildmode=c-shared -o libadd.so ./cshared
    python3 python/beside_torch.py ./libadd.so
"""
import ctypes
import sys
import threading

import torch

lib = ctypes.CDLL(sys.argv[1])


def add(t, by, replays):
    """Has Go add to the memory of a tensor."""
    assert lib.AddTo(ctypes.c_ulonglong(t.data_ptr()), t.numel(), by, replays) == 0


def thread(failures):
    with torch.cuda.stream(torch.cuda.Stream()) as _:
        t = torch.full((5000,), 2, dtype=torch.int32, device="cuda")
        torch.cuda.current_stream().synchronize()
        for _ in range(20):
            add(t, 2, 1)
            failures.append(lib.AddSelftest())
        failures.append(not (t == 42).all().item())


x = torch.full((100000,), 2, dtype=torch.int32, device="cuda")
torch.cuda.synchronize()
assert lib.AddOpen(0) == 0
add(x, 4, 10)
assert (x == 42).all().item()

failures = []
threads = [threading.Thread(target=thread, args=(failures,)) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert len(failures) == 84 and not any(failures), failures

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, capture_error_mode="thread_local"):
    y = x + 1
graph.replay()
torch.cuda.synchronize()
assert (y == 43).all().item()

assert lib.AddClose() == 0
assert (x + x == 84).all().item()  # PyTorch goes on
print("torch", torch.__version__, "and Go share the primary context")
