#!/usr/bin/env bash
# Cross-builds everything that is worth running on a GPU into one folder, for a
# linux/amd64 machine that has a driver but no Go: scripts/gpu-bundle.sh [FOLDER [PART...]]
#
# A part is the folder of a package with tests (graph, internal/verify/parity), an example
# (examples/14-decode, with its tests), bench, serve (the part of bench that compares
# services) or soak. Without any it is all of them.
#
# The folder (default: bundle) holds run.sh and one archive. In the archive the
# programs share most of their bytes, so they are packed together.
set -euo pipefail
shopt -s inherit_errexit
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${1:-$root/bundle}"
to=$(cd "${1:-$root/bundle}" && pwd)
[ $# -eq 0 ] || shift
parts=("$@")
declare -A packed
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
export GOOS=linux GOARCH=amd64 CGO_ENABLED=0

build() { # build OUTPUT PACKAGE [FLAG...]
	local out=$1 package=$2
	shift 2
	go build -trimpath -ldflags "-s -w" -o "$work/$out" "$@" "$package"
}

wanted() { # wanted PART
	local part
	[ ${#parts[@]} -gt 0 ] || return 0
	for part in "${parts[@]}"; do
		if [ "$part" = "$1" ]; then
			packed[$part]=yes
			return 0
		fi
	done
	return 1
}

# Tests: a binary per package, to be run in a copy of its folder's data.
mkdir -p "$work/tests" "$work/data"
list='{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}'
# The modules in internal folders are those that only test.
modules=$(git ls-files -co --exclude-standard '*/internal/*go.mod' 'internal/*go.mod' ':!*/testdata/*')
packages=$(go list -f "$list" ./...)
for module in $modules; do
	packages+=$'\n'$(go list -C "$(dirname "$module")" -f "$list" ./...)
done
while read -r dir; do
	folder=${dir#"$root"}
	folder=${folder#/}
	wanted "$folder" || continue
	name=${folder:-root}
	name=${name//\//_}
	go test -C "$dir" -c -trimpath -ldflags "-s -w" -o "$work/tests/$name" .
	mkdir -p "$work/data/$folder"
	echo "$name ${folder:-.}" >>"$work/tests.list"
done <<<"$packages"
git ls-files -z -co --exclude-standard -- '*/testdata/*' '*.ptx' '*_ptx.go' '*.txt' '*.md' '*.svg' go.mod |
	while IFS= read -r -d '' f; do if [ -e "$f" ]; then printf '%s\0' "$f"; fi; done |
	tar --null -T - -cf - | tar -xf - -C "$work/data"

for dir in examples/quickstart examples/first examples/[0-9]*; do
	! wanted "$dir" || build "$(basename "$dir")" "./$dir"
done
! wanted examples/quickstart || build quickstart-static ./examples/quickstart -tags static
! wanted soak || (cd internal/verify && build soak ./soak)
! wanted serve || bench/build.sh "$work/bench" serve
! wanted bench || bench/build.sh "$work/bench"
for part in "${parts[@]}"; do
	[ -n "${packed[$part]-}" ] || { echo "gpu-bundle.sh: there is no part $part" >&2; exit 2; }
done
git describe --always --dirty >"$work/commit" 2>/dev/null || echo unknown >"$work/commit"

# A dictionary larger than all programs together finds what they share.
tar -C "$work" -cf - . | xz --threads=1 --lzma2=preset=3,dict=256MiB >"$to/parts.tar.xz"
cp scripts/gpu-run.sh "$to/run.sh"
chmod +x "$to/run.sh"
du -sh "$work" "$to/parts.tar.xz" | awk '{print $1}' | tr '\n' ' '
echo "unpacked and packed: $to"
