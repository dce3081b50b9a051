#!/usr/bin/env bash
# Runs the quickstart and every numbered example on the emulator, on each
# platform that this machine can stand in for, and prints a table in Markdown.
#
# usage: scripts/platforms.sh [-o FILE] [PLATFORM [EXAMPLE ...]]
#
#   scripts/platforms.sh                      everything
#   scripts/platforms.sh arm64                one platform
#   scripts/platforms.sh arm64 quickstart     one cell, with what it prints
#   scripts/platforms.sh -o FILE              everything, with versions, into FILE
#
# It ends with 1 if a cell failed, and with 2 if something to run it with is
# missing. An example that finds a library missing which it is about says
# "There is nothing to …", names the library and ends with 0: its cell says what
# it needs. Any other example that ends with 0 has checked its own results.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

known=(amd64 arm64 windows static wasip1 js)
platforms=("${known[@]}")
build=${BUILD:-build}/platforms
limit=${LIMIT:-300} # seconds for a cell

# target says what go build is told.
target() {
	case $1 in
	amd64 | arm64) echo "GOOS=linux GOARCH=$1" ;;
	windows) echo "GOOS=windows GOARCH=amd64" ;;
	static) echo "GOOS=linux GOARCH=amd64 -tags=static" ;;
	wasip1 | js) echo "GOOS=$1 GOARCH=wasm" ;;
	*) echo "platforms.sh: no platform $1; there are ${known[*]}" >&2; exit 2 ;;
	esac
}

# how says in words what runs the programs of a platform.
how() {
	case $1 in
	amd64) echo "linux/amd64" ;;
	arm64) echo "linux/arm64 under qemu's user mode" ;;
	windows) echo "windows/amd64 under Wine" ;;
	static) echo "linux/amd64 with the tag \`static\`, alone in an empty root directory" ;;
	wasip1) echo "wasip1/wasm, WASI of node" ;;
	js) echo "js/wasm, Go's glue for browsers, in node" ;;
	esac
}

# tools are what has to be installed for it.
tools() {
	case $1 in
	amd64) ;;
	arm64) echo qemu-aarch64-static ;;
	windows) echo wine x86_64-w64-mingw32-gcc ;;
	static) [ "$(id -u)" = 0 ] && echo chroot || echo unshare chroot ;;
	wasip1 | js) echo node ;;
	esac
}

version() {
	case $1 in
	amd64) uname -sm ;;
	static) uname -sm; echo "; "; chroot --version | sed -n 1p ;;
	arm64) qemu-aarch64-static --version | sed -n 1p ;;
	windows) wine --version 2>/dev/null ;;
	wasip1 | js) echo "node "; node --version ;;
	esac
}

# compile builds the programs of a platform, all at once.
compile() {
	local platform=$1 words tags=() env=() w
	shift
	read -ra words <<<"$(target "$platform")"
	for w in "${words[@]}"; do
		case $w in -*) tags+=("$w") ;; *) env+=("$w") ;; esac
	done
	rm -rf "${build:?}/$platform"
	mkdir -p "$build/$platform"
	env "${env[@]}" go build "${tags[@]}" -o "$build/$platform/" "${@/#/./examples/}"
}

# alone runs a program as the only file of a root directory.
alone() {
	local root status=0 enter=("$(command -v chroot)")
	[ "$(id -u)" = 0 ] || enter=("$(command -v unshare)" -r "$(command -v chroot)")
	root=$(mktemp -d)
	cp "$1" "$root/program"
	shift
	env -i "${enter[@]}" "$root" /program "$@" || status=$?
	rm -r "$root"
	return $status
}

# run runs an example as its platform does.
run() {
	local program=$build/$1/$2
	case $1 in
	amd64) "$program" -device emulator ;;
	arm64) qemu-aarch64-static -L /usr/aarch64-linux-gnu "$program" -device emulator ;;
	windows) WINEPREFIX=$(realpath -m "${BUILD:-build}/wine") scripts/wine-run.sh "$program.exe" -device emulator ;;
	static) alone "$program" -device emulator ;;
	wasip1 | js) GOOS=$1 scripts/wasm-run.sh "$program" -device emulator ;;
	esac
}

# cell runs an example and says in a word what came of it; what it printed is in
# $build/PLATFORM/EXAMPLE.txt.
cell() {
	local text=$build/$1/$2.txt status=0 need
	timeout --foreground "$limit" scripts/platforms.sh --run "$1" "$2" >"$text" 2>&1 || status=$?
	need=$(sed -nE 's/^There is nothing to [^.:]*[.:] ([A-Za-z]+).*/\1/p' "$text" | sed -n 1p)
	if [ $status = 124 ]; then
		echo "failed: over $limit s"
	elif [ $status != 0 ]; then
		echo "failed: $status"
	elif ! grep -q '^Running on the emulator' "$text"; then
		echo "failed: no emulator"
	else
		echo "${need:+needs }${need:-ok}"
	fi
}

if [ "${1-}" = --run ]; then
	run "$2" "$3"
	exit
fi

out=
if [ "${1-}" = -o ]; then
	out=$2
	shift 2
fi
if [ $# -gt 0 ]; then
	platforms=("$1")
	shift
fi
examples=("$@")
if [ $# = 0 ]; then
	for dir in examples/quickstart examples/[0-9][0-9]-*/; do
		examples+=("$(basename "$dir")")
	done
fi

for p in "${platforms[@]}"; do
	target "$p" >/dev/null || exit 2
	needed=$(tools "$p")
	for tool in $needed; do
		command -v "$tool" >/dev/null || { echo "platforms.sh: $p needs $tool, which is not installed; docs/platforms.md names the packages" >&2; exit 2; }
	done
done

failed=0
declare -A cells
for p in "${platforms[@]}"; do
	begin=$SECONDS
	compile "$p" "${examples[@]}" || { echo "platforms.sh: $p: it does not build" >&2; exit 1; }
	compiled=$((SECONDS - begin))
	for e in "${examples[@]}"; do
		cells[$p $e]=$(cell "$p" "$e")
		case ${cells[$p $e]} in failed*) failed=1; echo "platforms.sh: $p $e ${cells[$p $e]}" >&2; cat "$build/$p/$e.txt" >&2 ;; esac
	done
	echo "$p: built in $compiled s, run in $((SECONDS - begin - compiled)) s" >&2
done

table() {
	printf '| example |'; printf ' %s |' "${platforms[@]}"; echo
	printf '%s' '|---|'; printf -- '---|%.0s' "${platforms[@]}"; echo
	for e in "${examples[@]}"; do
		printf '| `%s` |' "$e"
		for p in "${platforms[@]}"; do printf ' %s |' "${cells[$p $e]}"; done
		echo
	done
}

# notes are the words of the examples that need something, and where they say so.
notes() {
	for e in "${examples[@]}"; do
		for p in "${platforms[@]}"; do
			case ${cells[$p $e]} in needs*) echo "$p|- \`$e\`: $(grep -m 1 '^There is nothing to' "$build/$p/$e.txt" | tr -d '\r')" ;; esac
		done
	done | awk -F '|' '!($2 in on) { order[++n] = $2 } { on[$2] = on[$2] (on[$2] ? ", " : "") $1 } END { for (i = 1; i <= n; i++) print order[i] " (" on[order[i]] ")" }'
}

document() {
	local commit changes dirty= version
	commit=$(git rev-parse --short HEAD)
	changes=$(git status --porcelain -- ':!docs')
	[ -z "$changes" ] || dirty=" and changes that are not committed"
	version=$(go version)
	cat <<-D
	# The examples on each platform

	Generated by \`scripts/platforms.sh -o docs/results/platforms.md\`, at commit $commit$dirty, with
	$version. Every example ran on the emulator. To run one again, use
	\`scripts/platforms.sh PLATFORM EXAMPLE\`.

	D
	table
	cat <<-D

	"ok": the example checked its own results and exited with status 0. "needs": the example reported what is missing
	and exited with status 0.

	| platform | meaning | environment | command |
	|---|---|---|---|
	D
	for p in "${platforms[@]}"; do
		version=$(version "$p" | tr -d '\n')
		echo "| $p | $(how "$p") | $version | \`scripts/platforms.sh $p\` |"
	done
	printf '\nThe examples that need another library print these messages:\n\n'
	notes
}

if [ -n "$out" ]; then
	document >"$build/document"
	cat "$build/document" >"$out"
elif [ ${#platforms[@]} = 1 ] && [ ${#examples[@]} = 1 ]; then
	cat "$build/${platforms[0]}/${examples[0]}.txt"
	echo "$(how "${platforms[0]}"), ${examples[0]}: ${cells[${platforms[0]} ${examples[0]}]}"
else
	table
fi
exit $failed
