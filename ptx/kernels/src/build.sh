#!/bin/sh
# Compiles the kernels to PTX: src/NAME.cu to internal/launchers/NAME.ptx. The output is
# the same wherever it is made with the same nvcc (11.8, whose PTX drivers since
# CUDA 11.4 take once the version is lowered) and is committed. Then run go
# generate in internal/launchers and in internal/launches.
#
# usage: ptx/kernels/src/build.sh [NAME...]
#
# NVCC and PTXAS name the tools; PTXAS may be missing, then nothing is checked.
# A line "//: PATTERN NAME..." in a source names the parameters of the kernels
# that the pattern matches, because nvcc does not keep names. NAME* is a pointer,
# <NAME* one that is read, >NAME* one that is written, NAME:b untyped bits. The Go
# type can follow; $2 is that of the second part of the kernel's name.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-nvcc}
ptxas=${PTXAS:-ptxas}

[ $# -gt 0 ] || set -- $(ls ./*.cu | sed 's|^\./||; s|\.cu$||')
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for name; do
	# A text for newer devices has their name. Those have newer drivers too.
	case $name in
	*_sm90) target=sm_90 version=7.8 ;;
	*_sm80) target=sm_80 version=7.0 ;;
	*) target=sm_52 version=7.0 ;;
	esac
	"$nvcc" -ptx -O3 -std=c++17 "-arch=compute_${target#sm_}" -o "$tmp/$name.ptx" "$name.cu"
	awk -v version=$version -v target=$target -v from="src/$name.cu" -f params.awk "$name.cu" "$tmp/$name.ptx" >"$tmp/out.ptx"
	if command -v "$ptxas" >/dev/null; then
		"$ptxas" -c -arch=$target -o /dev/null "$tmp/out.ptx"
		"$ptxas" -c -arch=sm_90 -o /dev/null "$tmp/out.ptx"
	fi
	cp "$tmp/out.ptx" "../../../internal/launchers/$name.ptx"
done
