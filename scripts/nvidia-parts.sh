#!/bin/sh
# Downloads and unpacks the parts of NVIDIA's software that run without a GPU:
# three driver libraries, ptxas, NVRTC and the toolkit's stub library. They come
# from the non-free component of Debian 12, through the mirror that this system's
# apt already uses, and nothing is installed.
#
# usage: scripts/nvidia-parts.sh DIRECTORY
set -eu
dir=${1:?usage: scripts/nvidia-parts.sh DIRECTORY}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# What is wanted: DIRECTORY/NAME gets, from each package of a row (names with
# commas between them), the members that the pattern matches.
parts='
driver-535 libcuda1 *
driver-525 libnvidia-tesla-cuda1 *
driver-470 libnvidia-tesla-470-cuda1 *
toolkit nvidia-cuda-toolkit */bin/*
nvrtc libnvrtc11.2,libnvrtc-builtins11.8 *
stubs nvidia-cuda-dev */stubs/libcuda.so
'

sources=/etc/apt/sources.list.d/debian.sources
if [ ! -r "$sources" ]; then
	echo "nvidia-parts: $sources is not there: this script knows Debian 12's apt only" >&2
	exit 1
fi

apt=$dir/apt
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/parts"
# The first stanza is the main archive; only its component changes.
awk 'BEGIN { RS = "" } NR == 1' "$sources" | sed 's/^Components:.*/Components: non-free/' >"$apt/parts/non-free.sources"

set -- -qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/parts" \
	-o "Dir::State::Lists=$apt/lists" -o "Dir::Cache::Archives=$apt/archives" -o APT::Sandbox::User=root

fresh=no
echo "$parts" | while read -r name package members; do
	[ -n "$name" ] || continue
	[ ! -e "$dir/$name/.complete" ] || continue
	if [ $fresh = no ]; then
		apt-get "$@" update
		fresh=yes
	fi
	rm -rf "${dir:?}/$name"
	mkdir -p "$dir/$name"
	(
		cd "$dir/$name"
		for p in $(echo "$package" | tr , ' '); do
			apt-get "$@" download "$p"
			dpkg-deb --fsys-tarfile ./*.deb | tar -x --wildcards "$members"
			rm -f ./*.deb
		done
	)
	touch "$dir/$name/.complete"
	echo "nvidia-parts: $name from $package"
done
