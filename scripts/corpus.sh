#!/usr/bin/env bash
# Compiles internal/verify/corpus/cuda/*.cu to PTX and packs one archive per build into
# DIRECTORY (default: internal/verify/corpus/testdata): scripts/corpus.sh [DIRECTORY]
#
# It needs nvcc 13.0, which NVCC may name. The archives depend on the sources and
# the compiler only. After a change of a source, also the results have to be made
# anew on an H200: run internal/verify/corpus's tests there with PURECUDA_CORPUS_RESULTS
# naming the file, then here with -update.
set -euo pipefail
shopt -s inherit_errexit
root=$(cd "$(dirname "$0")/.." && pwd)
to=${1:-$root/internal/verify/corpus/testdata}
mkdir -p "$to"
to=$(cd "$to" && pwd)
nvcc=${NVCC:-nvcc}
# ARCHITECTURES and NVCCFLAGS are for trying a source with another compiler.
builds=${ARCHITECTURES:-75 80 90 100 90_O0}

# Debug information names the folder, and an archive has the order of names, so both
# are the same everywhere.
export LC_ALL=C
work=/tmp/purecuda-corpus
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
cp "$root"/internal/verify/corpus/cuda/*.cu "$work"
cd "$work"

sources=(*.cu)
for build in $builds; do
	mkdir "compute_$build"
	case $build in
	*_O0) flags="-arch=compute_${build%_O0} -G -O0" ;;
	*) flags="-arch=compute_$build -O3" ;;
	esac
	# shellcheck disable=SC2086 # flags are words
	printf '%s\n' "${sources[@]%.cu}" | xargs -P "$(nproc)" -I{} sh -c \
		"$nvcc -std=c++17 -ptx $flags ${NVCCFLAGS:-} {}.cu -o compute_$build/{}.ptx || { echo corpus: {} for $build failed >&2; exit 1; }"
	files=("${sources[@]/%.cu/.ptx}") # tar fails if one is missing
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -C "compute_$build" \
		-cf - "${files[@]}" | gzip -9n >"compute_$build.tar.gz"
	mv "compute_$build.tar.gz" "$to"
	echo "compute_$build: ${#files[@]} files, $(stat -c %s "$to/compute_$build.tar.gz") bytes"
done
