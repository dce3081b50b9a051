"""Compares the algorithms of package kernels with PyTorch and CuPy, by turns:

    python3 bench/algorithms.py ALGOBENCH [--run REGEXP] [--rounds 3]

ALGOBENCH is the built program bench/cmd/algobench. In each round, it measures the cases once, and then
PyTorch and CuPy measure the same cases. The table has the median of the rounds for each. The ratio is
the time of the faster library divided by that of package kernels: more than 1 means that package
kernels is faster.
"""

import argparse
import re
import statistics
import subprocess

import torch

try:
    import cupy
except ImportError:
    cupy = None

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True


def measure(call):
    """Returns the median time of a call in microseconds."""
    def sample(count):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(count):
            call()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) * 1000
    call()
    torch.cuda.synchronize()
    count = 1
    while True:
        took = sample(count)
        if took >= 5000:
            break
        count = max(2 * count, int(count * 5000 / max(took, 1)))
    return statistics.median(sample(count) for _ in range(7)) / count


def array(x):
    """Returns a CuPy array with the memory of a tensor."""
    return cupy.from_dlpack(x)


DTYPES = {"f32": torch.float32, "f64": torch.float64, "i32": torch.int32, "i64": torch.int64}


def random(dtype, n):
    if dtype in (torch.float32, torch.float64):
        return torch.randn(n, dtype=dtype, device="cuda")
    limits = torch.iinfo(dtype)
    return torch.randint(limits.min, limits.max, (n,), dtype=dtype, device="cuda")


def sums(m):
    x = random(DTYPES[m[1]], 2 ** int(m[2]))
    y = torch.empty_like(x)
    yield "torch", lambda: torch.cumsum(x, 0, dtype=x.dtype, out=y)
    if cupy:
        a, b = array(x), array(y)
        yield "cupy", lambda: cupy.cumsum(a, out=b)


def sorts(m):
    x = random(DTYPES[m[1]], 2 ** int(m[2]))
    if cupy:
        a = array(x)
        yield "cupy", lambda: cupy.sort(a)
    yield "torch", lambda: torch.sort(x)


def pairs(m):
    x = random(torch.float32, 2 ** int(m[1]))
    yield "torch", lambda: torch.sort(x, stable=True)
    if cupy:
        a = array(x)
        yield "cupy", lambda: cupy.argsort(a)


def topk(m):
    rows, cols, k = int(m[1]), int(m[2]), int(m[3])
    x = random(torch.float32, rows * cols).view(rows, cols)
    yield "torch", lambda: torch.topk(x, k)


def histogram(m):
    n, bins = 2 ** int(m[3]), int(m[4])
    dtype = torch.uint8 if m[1] == "u8" else torch.int32
    if m[2]:
        x = torch.zeros(n, dtype=dtype, device="cuda")
    else:
        x = torch.randint(0, bins, (n,), dtype=dtype, device="cuda")
    # torch.bincount and cupy.bincount also look for the largest element.
    yield "torch", lambda: torch.bincount(x, minlength=bins)
    if cupy:
        a = array(x)
        yield "cupy", lambda: cupy.bincount(a, minlength=bins)
        edges = cupy.arange(bins + 1, dtype=cupy.float32)
        if not m[2] and dtype == torch.int32 and bins <= 4096:
            f = a.astype(cupy.float32)
            yield "cupy histogram", lambda: cupy.histogram(f, bins=edges)


def uniform(m):
    x = torch.empty(2 ** int(m[1]), device="cuda")
    yield "torch", lambda: x.uniform_()


def normal(m):
    x = torch.empty(2 ** int(m[1]), device="cuda")
    yield "torch", lambda: x.normal_()


def gemm(m):
    rows = int(m[1])
    cols, depth = (int(m[2]), int(m[3])) if m[2] else (rows, rows)
    a, b = torch.randn(rows, depth, device="cuda"), torch.randn(depth, cols, device="cuda")
    c = torch.empty(rows, cols, device="cuda")
    yield "torch", lambda: torch.mm(a, b, out=c)


def fft(m):
    n, total = 2 ** int(m[1]), 2 ** int(m[2])
    x = torch.randn(total // n, n, dtype=torch.complex64, device="cuda")
    y = torch.empty_like(x)
    yield "torch", lambda: torch.fft.fft(x, out=y)
    if cupy:
        import cupyx.scipy.fft
        a = array(x)
        plan = cupyx.scipy.fft.get_fft_plan(a, axes=1)
        yield "cupy", lambda: cupyx.scipy.fft.fft(a, axis=1, plan=plan, overwrite_x=True)


def conv(m):
    n, c, k, g, height, width, down, across, stride, padding, dilation = (int(v) for v in m.groups()[1:])
    dtype = torch.float16 if m[1] == "f16" else torch.float32
    image, size, call = (height, width), (down, across), torch.nn.functional.conv2d
    if height == 1:
        image, size, call = (width,), (across,), torch.nn.functional.conv1d
    x = torch.randn(n, c, *image, device="cuda").to(dtype)
    w = torch.randn(k, c // g, *size, device="cuda").to(dtype)
    yield "torch", lambda: call(x, w, stride=stride, padding=padding, dilation=dilation, groups=g)


def product_of_norm(m):
    """Multiplies several matrices in turn, as algobench does."""
    rows, cols = int(m[1]), int(m[2])
    turns = min(max(2**28 // (2 * rows * cols), 1), 8)
    a = [torch.ones(rows, cols, dtype=torch.float16, device="cuda") for _ in range(turns)]
    x = torch.ones(cols, dtype=torch.float16, device="cuda")
    at = 0

    def call():
        nonlocal at
        at = (at + 1) % turns
        torch.mv(a[at], torch.nn.functional.rms_norm(x, (cols,), x, 1e-6))
    yield "torch", call


KINDS = [
    (r"sum (\w+) 2\^(\d+)$", sums),
    (r"sort pairs f32 i64 2\^(\d+)$", pairs),
    (r"sort (\w+) 2\^(\d+)$", sorts),
    (r"topk f32 (\d+) x (\d+) k (\d+)$", topk),
    (r"histogram (\w+) (equal )?2\^(\d+) (\d+)$", histogram),
    (r"uniform f32 2\^(\d+)$", uniform),
    (r"normal f32 2\^(\d+)$", normal),
    (r"gemm f32 (\d+)(?: x (\d+) x (\d+))?$", gemm),
    (r"fft 2\^(\d+) of 2\^(\d+)$", fft),
    (r"gemv of norm f16 (\d+) x (\d+)$", product_of_norm),
    (r"conv (f\d+) n(\d+) c(\d+) k(\d+) g(\d+) (\d+)x(\d+) filter (\d+)x(\d+) s(\d+) p(\d+) d(\d+)$", conv),
]


def libraries(name):
    """Measures a case in the libraries that have it."""
    for pattern, make in KINDS:
        m = re.match(pattern, name)
        if not m:
            continue
        times = {}
        try:
            for library, call in make(m):
                try:
                    times[library] = measure(call)
                except Exception as err:  # the library cannot do this case
                    print(f"# {name}, {library}: {err}")
        except torch.OutOfMemoryError as err:
            print(f"# {name}: {err}")
        torch.cuda.empty_cache()
        if cupy:
            cupy.get_default_memory_pool().free_all_blocks()
        return times
    return {}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("algobench")
    p.add_argument("--run", default="")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--peak", type=float, help="memory bandwidth in GB/s, for matrix-vector products (default: 4800 for an H200, otherwise 3350)")
    args = p.parse_args()
    peak = args.peak or (4800 if "H200" in torch.cuda.get_device_name() else 3350)
    ours, theirs = {}, {}
    for _ in range(args.rounds):
        out = subprocess.run([args.algobench, "-run", args.run], check=True, capture_output=True, text=True).stdout
        names = []
        for line in out.splitlines():
            name, took = line.split("\t")
            ours.setdefault(name, []).append(float(took))
            names.append(name)
        for name in names:
            for library, took in libraries(name).items():
                theirs.setdefault(name, {}).setdefault(library, []).append(took)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CuPy {cupy.__version__ if cupy else 'none'}, {args.rounds} rounds, median times in µs\n")
    print("| case | package kernels | libraries | ratio |")
    print("|---|---|---|---|")
    for name, times in ours.items():
        mine = statistics.median(times)
        others = {k: statistics.median(v) for k, v in theirs.get(name, {}).items()}
        text = ", ".join(f"{k} {v:.1f}" for k, v in others.items())
        ratio = f"{min(others.values()) / mine:.2f}" if others else ""
        m = re.match(r"gemv (?:of norm )?i(\d) f16 (\d+) x (\d+)$", name)
        if m:
            rate = int(m[2]) * int(m[3]) * (int(m[1]) / 8 + 2 / 128) / mine / 1000
            text, ratio = f"{rate:.0f} GB/s", f"{rate / peak:.2f} of the peak"
        m = re.match(r"gemm f32 (\d+)$", name)
        if m:
            text += f" ({2 * int(m[1]) ** 3 / mine / 1e6:.1f} and {2 * int(m[1]) ** 3 / others['torch'] / 1e6:.1f} TFLOP/s)"
        print(f"| {name} | {mine:.1f} | {text} | {ratio} |")


if __name__ == "__main__":
    main()
