#!/bin/sh
# Builds the comparison of math functions into a folder: bench/math.sh FOLDER
# mathbench measures on the machine with the GPU, which needs no Go: mathbench -cuda math.ptx
# The counterpart math.ptx is made by nvcc, which NVCC names. Without nvcc, it is made by NVRTC,
# whose library PURECUDA_NVRTC names. Both contain the same math library.
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
to=$(cd "$1" && pwd)
cd "$bench"
CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$to/mathbench" ./cmd/mathbench
nvcc=${NVCC:-nvcc}
if command -v "$nvcc" >/dev/null && "$nvcc" -ptx -O3 -arch=compute_90 -o "$to/math.ptx" cmd/mathbench/math.cu; then
	exit 0
fi
env -u GOOS -u GOARCH CGO_ENABLED=0 go run ./cmd/mathbench -emit-cuda "$to/math.ptx"
