#!/usr/bin/env bash
# Runs a program where the C library is an old one, a new one, musl, or none: in
# root directories that hold the C library of a distribution and nothing else, which
# is all of an image of containers that a program sees.
#
# usage: scripts/roots.sh [-o FILE] [ROOT...]     default: all
#
# A number is a version of glibc. musl is what Alpine has without a package for
# glibc programs: the ELF interpreter that our programs name is not there.
# musl-named has a link by that name to musl's, which is half of what such a
# package does. none has no file but the program.
#
# In each, examples/18-service tests itself on the emulator, as user 65532 if this is
# run by root, built as always and with the tag static. Asked for a GPU, it opens NVIDIA's library where
# $NVIDIA_DRIVER names one (as make test-nvidia downloads them), and says that there
# is no device. It ends with 1 if something is not as it is expected to be.
#
# Debian's packages come through the mirror that this system's apt uses. Ubuntu's
# come from $UBUNTU_MIRROR, an address such as Ubuntu's own sources.list has, and are
# held to their SHA-256; without it those roots are left out, and said so. Needs
# root or unshare, Debian's dpkg-deb, and curl for Ubuntu's.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
build=$(realpath -m "${BUILD:-build}/roots")
mkdir -p "$build"
out=
[ "${1-}" != -o ] || { out=$2; shift 2; }

# Root; where its package is from: the suite of Debian, or the file in Ubuntu's
# archive and its SHA-256; the images that are like it.
table='
none|-|`scratch`
2.23|pool/main/g/glibc/libc6_2.23-0ubuntu3_amd64.deb 68d69a0fb2dae7578a2a7054bc0cd5f0994d523f60d540bc6708ff3f2fb33e18|`ubuntu:16.04`
2.27|pool/main/g/glibc/libc6_2.27-3ubuntu1_amd64.deb 1e1eb86fd646aa68f7144ec692b837b6b352d215880c6a2d0c92c19d36938427|`ubuntu:18.04`
2.31|libc6 bullseye|`debian:11-slim`, `distroless/base-debian11`
2.35|pool/main/g/glibc/libc6_2.35-0ubuntu3_amd64.deb ea9a27e0ebdd0cfc9c750d94f8074f3a35d1f97dcc77ae04c370fb498a6b6db2|`ubuntu:22.04`, `nvidia/cuda:*-base-ubuntu22.04`
2.36|libc6 bookworm|`debian:12-slim`, `distroless/base-debian12`
2.39|pool/main/g/glibc/libc6_2.39-0ubuntu8_amd64.deb af36c7ac770770fe3d3c10e85d6bc538e76e57570ba7db7d397fb9f654783ef3|`ubuntu:24.04`
2.41|libc6 trixie|`debian:13-slim`
musl|musl bookworm|`alpine`
musl-named|musl bookworm|`alpine` with a link from `/lib64/ld-linux-x86-64.so.2`
'
roots=("$@")
[ $# -gt 0 ] || mapfile -t roots < <(grep -o '^[^|]*' <<<"$table")
enter=("$(command -v chroot)" --userspec=65532:65532)
[ "$(id -u)" = 0 ] || enter=("$(command -v unshare)" -r "$(command -v chroot)")

# field N ROOT
field() { awk -F '|' -v n="$1" -v r="$2" '$1 == r { print $n; found = 1 } END { exit !found }' <<<"$table"; }

# from_ubuntu FILE SHA256
from_ubuntu() {
	local file
	file=$build/$(basename "$1")
	[ -e "$file" ] || curl -fsS -m 120 -o "$file" "$UBUNTU_MIRROR/$1"
	sha256sum -c --quiet <<<"$2  $file" >&2 || {
		rm -f "$file"
		return 1
	}
	echo "$file"
}

# fill ROOT makes $build/ROOT.
fill() {
	local dir=$build/$1 from deb d
	from=$(field 2 "$1")
	rm -rf "$dir"
	mkdir -p "$dir"
	case $from in
	-) return ;;
	pool/*) deb=$(from_ubuntu $from) ;;
	*) deb=$(scripts/debian-package.sh "$build/${from#* }" "${from#* }" main "${from% *}") ;;
	esac
	dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir" --wildcards '*/lib*/*.so*'
	# Newer packages have their files below usr only; a system has links.
	for d in lib lib64; do
		if [ ! -e "$dir/$d" ] && [ -d "$dir/usr/$d" ]; then ln -s "usr/$d" "$dir/$d"; fi
	done
	if [ "$1" = musl-named ]; then
		mkdir -p "$dir/lib64"
		ln -s /lib/ld-musl-x86_64.so.1 "$dir/lib64/ld-linux-x86-64.so.2"
	fi
}

# try ROOT PROGRAM DEVICE: what came of it, in a few words.
try() {
	local dir=$build/$1 text status=0 driver=()
	cp "$build/$2" "$dir/program"
	[ ! -e "$dir/libcuda.so.1" ] || driver=(PURECUDA_DRIVER=/libcuda.so.1)
	text=$(timeout 120 env -i "${driver[@]}" "${enter[@]}" "$dir" /program -device "$3" 2>&1) || status=$?
	case $status,$text in
	0,*"all scores are right"*) echo runs ;;
	127,*"No such file"*) echo "does not start" ;;
	1,*"symbol not found"*) echo "does not open: it lacks \`$(grep -oE '[a-z_]+: symbol not found' <<<"$text" | head -n 1 | cut -d : -f 1)\`" ;;
	1,*CUDA_ERROR_NO_DEVICE*) echo "opens, no device" ;;
	*) echo "$status: $(tail -n 1 <<<"$text" | cut -c 1-200)" ;;
	esac
}

# expected ROOT: the answers of a glibc, of musl, and of what it is where a program looks for glibc's loader.
expected() {
	case $1 in
	2.*) echo "runs|runs|opens, no device" ;;
	musl-named) echo "runs|runs|does not open: it lacks \`__register_atfork\`" ;;
	*) echo "does not start|runs|does not start" ;;
	esac
}

go build -trimpath -o "$build/dynamic" ./examples/18-service
go build -trimpath -tags static -o "$build/static" ./examples/18-service
failed=0
rows= left=
for r in "${roots[@]}"; do
	from=$(field 2 "$r") || { echo "roots.sh: no root $r; there are $(grep -o '^[^|]*' <<<"$table" | xargs)" >&2; exit 2; }
	if [[ $from == pool/* ]] && [ -z "${UBUNTU_MIRROR-}" ]; then
		left+=" $r"
		continue
	fi
	fill "$r"
	answers="$(try "$r" dynamic emulator)|$(try "$r" static emulator)|"
	wanted=$(expected "$r")
	if [ -n "${NVIDIA_DRIVER-}" ]; then
		cp -L "$NVIDIA_DRIVER" "$build/$r/libcuda.so.1"
		answers+=$(try "$r" dynamic gpu)
	else
		answers+="not tried"
		wanted=${wanted%|*}"|not tried"
	fi
	[ "$answers" = "$wanted" ] || { failed=1; echo "roots.sh: $r: $answers" >&2; }
	rows+="| $r | $(field 3 "$r") | ${answers//|/ | } |"$'\n'
done
[ -z "$left" ] || echo "roots.sh: UBUNTU_MIRROR is not set, so these are left out:$left" >&2

report() {
	local library="NVIDIA's driver library was not tried."
	[ -z "${NVIDIA_DRIVER-}" ] || library="NVIDIA's driver library $(basename "$(readlink -f "$NVIDIA_DRIVER")") is also in the directory. The machine has no GPU, so that"$'\n'"library reports \"no device\"."
	cat <<-D
	# C libraries and container images

	Generated by \`UBUNTU_MIRROR=ADDRESS NVIDIA_DRIVER=FILE scripts/roots.sh -o docs/results/roots.md\` with
	$(go version | cut -d ' ' -f 3) at commit $(git describe --always --dirty). Each root directory contains only a distribution's C library.
	[The service](../../examples/18-service) tests itself there on the emulator as user 65532. "Runs" means that the
	self-test passed. $library

	| C library | same as in | with \`CGO_ENABLED=0\` | with the tag \`static\` | with NVIDIA's driver library |
	|---|---|---|---|---|
	D
	printf '%s' "$rows"
}
if [ -z "$out" ]; then
	report
elif [ $failed = 0 ] && [ -z "$left" ]; then
	report >"$out.new"
	mv "$out.new" "$out"
else
	echo "roots.sh: $out is left as it is" >&2
	exit 2
fi
exit $failed
