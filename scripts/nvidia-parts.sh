#!/usr/bin/env bash
# Downloads and unpacks the parts of NVIDIA's software that run without a GPU:
# three driver libraries, ptxas, NVRTC and the toolkit's stub library. They come
# from the non-free component of Debian, through the mirror that this system's
# apt already uses (scripts/debian-package.sh), and nothing is installed.
#
# usage: scripts/nvidia-parts.sh DIRECTORY
set -euo pipefail
shopt -s inherit_errexit
dir=${1:?usage: scripts/nvidia-parts.sh DIRECTORY}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
cd "$(dirname "$0")/.."

# What is wanted: DIRECTORY/NAME gets, from each package of a row (names with
# commas between them), the members that the pattern matches.
parts='driver-535 libcuda1 *
driver-525 libnvidia-tesla-cuda1 *
driver-470 libnvidia-tesla-470-cuda1 *
toolkit nvidia-cuda-toolkit */bin/*
nvrtc libnvrtc11.2,libnvrtc-builtins11.8 *
stubs nvidia-cuda-dev */stubs/libcuda.so'

while read -r name packages members; do
	[ ! -e "$dir/$name/.complete" ] || continue
	rm -rf "${dir:?}/$name"
	mkdir -p "$dir/$name"
	read -ra words <<<"${packages//,/ }"
	files=$(scripts/debian-package.sh "$dir" '' non-free "${words[@]}")
	while read -r file; do
		dpkg-deb --fsys-tarfile "$file" | tar -x -C "$dir/$name" --wildcards "$members"
		rm "$file"
	done <<<"$files"
	touch "$dir/$name/.complete"
	echo "nvidia-parts: $name from $packages"
done <<<"$parts"
