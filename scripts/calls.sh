#!/usr/bin/env bash
# Compiles a stand-in for the driver's library with C compilers of several
# platforms and runs internal/checks/calltest with it: eleven arguments, structs
# by value, floats, callbacks; and a program that waits for callbacks alone.
#
# usage: scripts/calls.sh [PLATFORM ...]      amd64 syscall cgo arm64 windows
#
# syscall is linux/amd64 through purego.SyscallN, cgo is linux/amd64 with cgo on.
# It ends with 2 if a compiler is missing.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
platforms=("$@")
[ $# -gt 0 ] || platforms=(amd64 syscall cgo arm64 windows)
build=$(realpath -m "${BUILD:-build}/calls")
mkdir -p "$build"

library() { # library COMPILER FILE [FLAG ...]
	command -v "$1" >/dev/null || { echo "calls.sh: $1 is not installed" >&2; exit 2; }
	"$1" -shared -O1 -Wall -o "$build/$2" internal/checks/calltest/testdata/driver.c "${@:3}"
	export PURECUDA_DRIVER=$build/$2
}

for p in "${platforms[@]}"; do
	tags=calltest env=(CGO_ENABLED=0) exec=()
	case $p in
	amd64 | syscall | cgo) library "${CC:-cc}" libcuda-test.so -fPIC -pthread ;;
	arm64)
		library aarch64-linux-gnu-gcc libcuda-test-arm64.so -fPIC -pthread
		env+=(GOARCH=arm64) exec=(-exec "qemu-aarch64-static -L /usr/aarch64-linux-gnu")
		;;
	windows)
		library x86_64-w64-mingw32-gcc cuda-test.dll
		env+=(GOOS=windows "WINEPREFIX=$(realpath -m "${BUILD:-build}/wine")") exec=(-exec "$PWD/scripts/wine-run.sh")
		;;
	*) echo "calls.sh: no platform $p; there are amd64 syscall cgo arm64 windows" >&2; exit 2 ;;
	esac
	case $p in
	syscall) tags+=,purecuda_syscall ;;
	cgo) env=(CGO_ENABLED=1) ;;
	esac
	echo "calls: $p"
	env "${env[@]}" go test -C internal/checks -count=1 -v -tags "$tags" "${exec[@]}" ./calltest | grep -v '^=== RUN'
	env "${env[@]}" go run -C internal/checks -tags "$tags" "${exec[@]}" ./calltest/testdata/waits
done
