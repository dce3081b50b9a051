#!/bin/sh
# Checks that NVIDIA's tools name the lines of kernels in Go. Run it on a machine with a GPU and
# compute-sanitizer:
#
#     scripts/gpu-lines.sh              builds the test binary with Go
#     scripts/gpu-lines.sh BINARY       uses BINARY, from
#                                       CGO_ENABLED=0 go test -C ptx/go2ptx/internal/verify -c -o $PWD/BINARY ./faulttest
#
# Each part ends in a line PASS, FAIL or NOT RUN. The exit status is 0 if none failed. $OUT, or
# ./gpu-lines, receives what the tools print.
set -u
out=${OUT:-gpu-lines}
mkdir -p "$out"
out=$(cd "$out" && pwd)
binary=$out/faulttest.test
if [ $# -gt 0 ]; then
	cp "$1" "$binary" || exit 2
else
	(cd "$(dirname "$0")/../ptx/go2ptx/internal/verify" && CGO_ENABLED=0 go test -c -o "$binary" ./faulttest) || exit 2
fi
PATH=$PATH:/usr/local/cuda/bin
failed=0

# lines KERNEL NAME COMMAND...: runs the planted bug under the command. The output must name the
# expected line beside the kernel.
lines() {
	kernel=$1 log=$out/$2-$1.txt what="$2 $1"
	shift 2
	PURECUDA_PLANTED=$kernel timeout 120 "$@" "$binary" -test.run '^TestPlantedBug$' >"$log" 2>&1
	want=$(sed -n 's/.*expected: //p' "$log" | head -1)
	if [ -z "$want" ]; then
		failed=1
		echo "FAIL $what: the kernel did not run"
		tail -5 "$log"
	elif grep -v 'expected: ' "$log" | grep -F "$want" | grep -qv "$want[0-9]"; then
		echo "PASS $what: $(grep -v 'expected: ' "$log" | grep -F "$want" | head -1 | sed 's/^[= ]*//')"
	else
		failed=1
		echo "FAIL $what: no line names $want"
		grep '^=====' "$log" | head -8
	fi
}

if [ "${PURECUDA_PLANTED_ON:-}" = emulator ]; then # tries this script without a GPU
	for kernel in outside sharedEnd misaligned inlined; do
		lines $kernel emulator env
	done
elif command -v compute-sanitizer >/dev/null; then
	for kernel in outside sharedEnd misaligned inlined; do
		lines $kernel memcheck compute-sanitizer --tool memcheck
	done
	lines sharedRace racecheck compute-sanitizer --tool racecheck --racecheck-report all
	lines count initcheck compute-sanitizer --tool initcheck
else
	echo "NOT RUN: there is no compute-sanitizer"
fi

# The source view of the profiler. Without permission to use the counters, it has nothing to show.
if command -v ncu >/dev/null && [ "${PURECUDA_PLANTED_ON:-}" = "" ]; then
	PURECUDA_PLANTED=sharedRace timeout 180 ncu --set full --import-source yes -f -o "$out/profile" \
		"$binary" -test.run '^TestPlantedBug$' >"$out/ncu.txt" 2>&1
	if grep -q 'ERR_NVGPUCTRPERM\|No kernels were profiled' "$out/ncu.txt"; then
		echo "NOT RUN ncu: $(grep -m 1 'ERR_NVGPUCTRPERM\|No kernels' "$out/ncu.txt")"
	else
		ncu -i "$out/profile.ncu-rep" --page source --print-source cuda,sass >"$out/ncu-source.txt" 2>&1
		if grep -q 'bugs\.go' "$out/ncu-source.txt"; then
			echo "PASS ncu: $(grep -m 1 'bugs\.go' "$out/ncu-source.txt")"
		else
			failed=1
			echo "FAIL ncu: the source view does not name bugs.go"
			head -5 "$out/ncu-source.txt"
		fi
	fi
fi
exit $failed
