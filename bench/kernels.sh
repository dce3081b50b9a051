#!/bin/sh
# Builds the comparison of kernels into a folder: bench/kernels.sh FOLDER
# kernelbench measures on the machine with the GPU, which needs no Go: kernelbench -cuda all.ptx
# The counterpart all.ptx is made by nvcc, which NVCC names. Without nvcc, it is made by NVRTC,
# whose library PURECUDA_NVRTC names.
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
to=$(cd "$1" && pwd)
cd "$bench"
CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$to/kernelbench" ./cmd/kernelbench
nvcc=${NVCC:-nvcc}
if command -v "$nvcc" >/dev/null && "$nvcc" -ptx -O3 -arch=compute_90 -o "$to/all.ptx" kernels/cuda/all.cu; then
	exit 0
fi
env -u GOOS -u GOARCH CGO_ENABLED=0 go run ./cmd/kernelbench -emit-cuda "$to/all.ptx" kernels/cuda
