#!/bin/sh
# Cross-builds everything that is worth running on a GPU into one folder, for a
# linux/amd64 machine that has a driver but no Go: scripts/gpu-bundle.sh [FOLDER]
#
# The folder (default: bundle) holds run.sh and one archive. In the archive the
# programs share most of their bytes, so they are packed together.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${1:-$root/bundle}"
to=$(cd "${1:-$root/bundle}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
export GOOS=linux GOARCH=amd64 CGO_ENABLED=0

build() { # build OUTPUT PACKAGE [FLAG...]
	out=$1 package=$2
	shift 2
	go build -trimpath -ldflags "-s -w" -o "$work/$out" "$@" "$package"
}

# Tests: a binary per package, to be run in a copy of its folder's data.
mkdir -p "$work/tests" "$work/data"
go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' ./... |
	while read -r package dir; do
		folder=${dir#"$root"}
		folder=${folder#/}
		name=$(echo "${folder:-root}" | tr / _)
		go test -c -trimpath -ldflags "-s -w" -o "$work/tests/$name" "$package"
		mkdir -p "$work/data/$folder"
		echo "$name ${folder:-.}" >>"$work/tests.list"
	done
git ls-files -co --exclude-standard -- '*/testdata/*' '*.ptx' '*_ptx.go' '*.txt' '*.md' go.mod |
	tar -cf - -T - | tar -xf - -C "$work/data"

for dir in examples/quickstart/ examples/[0-9]*/; do
	build "$(basename "$dir")" "./$dir"
done
build quickstart-static ./examples/quickstart -tags static
build soak ./internal/soak
bench/build.sh "$work/bench"
git describe --always --dirty >"$work/commit" 2>/dev/null || echo unknown >"$work/commit"

# A dictionary larger than all programs together finds what they share.
tar -C "$work" -cf - . | xz --threads=1 --lzma2=preset=3,dict=256MiB >"$to/parts.tar.xz"
cp scripts/gpu-run.sh "$to/run.sh"
chmod +x "$to/run.sh"
du -sh "$work" "$to/parts.tar.xz" | awk '{print $1}' | tr '\n' ' '
echo "unpacked and packed: $to"
