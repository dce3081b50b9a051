#!/bin/sh
# Builds the programs of the comparison into a folder: bench/build.sh FOLDER [serve]
# With "serve", only those of compare -serve.
# C and cgo need a compiler for the target: gcc on a machine like it, or one that
# CC names. Where there is none they are left out, and said so. LAYOUTS=6 also builds
# gobench.1 to gobench.6, the same program with its functions in six other orders.
# TRIMPATH= keeps the paths of this machine in the programs, for tests: what other
# commands have compiled is then not compiled again.
set -eu
trim=${TRIMPATH--trimpath}
bench=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
to=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$bench"
programs="compare servebench"
[ "${2:-}" = serve ] || programs="$programs gobench launchbench puregobench"
for p in $programs; do
	CGO_ENABLED=0 go build $trim -ldflags "-s -w" -o "$to/$p" "./cmd/$p"
done
i=0
while [ $((i += 1)) -le "${LAYOUTS:-0}" ]; do
	CGO_ENABLED=0 go build $trim -ldflags "-s -w -randlayout=$i" -o "$to/gobench.$i" ./cmd/gobench
done

target=$(go env GOOS)/$(go env GOARCH)
host=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
cc=${CC:-gcc}
if [ -z "${CC:-}" ] && [ "$target" != "$host" ] || ! command -v "$cc" >/dev/null; then
	echo "bench: no C compiler for $target: the C program and the cgo caller are not built" >&2
	exit 0
fi
flags="-std=gnu11 -O2 -s -Wall -Wextra"
"$cc" $flags -Wa,-I,internal/child -o "$to/servebench-c" c/serve.c c/driver.c -ldl -pthread
mkdir -p "$to/nothing" "$to/later"
"$cc" $flags -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$to/nothing/libcuda.so.1" c/nothing.c -ldl
"$cc" $flags -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$to/later/libcuda.so.1" c/later.c -ldl
[ "${2:-}" != serve ] || exit 0
CGO_ENABLED=1 go build $trim -ldflags "-s -w" -o "$to/cgobench" ./cmd/cgobench

# The names that the C program looks up are the ones the library binds.
sed 's/.*/"&",/' ../driver/cu/testdata/functions-13.0.txt >"$work/names.inc"
"$cc" $flags -I"$work" -Wa,-I,internal/child \
	-o "$to/bench-c" c/bench.c c/waits.c c/rows.c c/driver.c -ldl -pthread
"$cc" $flags -o "$to/launchbench-c" c/launch.c c/rows.c c/driver.c -ldl
