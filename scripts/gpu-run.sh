#!/bin/sh
# Runs what scripts/gpu-bundle.sh packed, on a machine with a GPU:
#
#     ./run.sh                  everything
#     ./run.sh tests soak       some parts
#
# Parts: info tests kernels quickstart examples decode compare serve gobench soak memcheck
# graphsoak (8 minutes, or $GRAPHSOAK; driver 580 takes more of the device's memory once
# within the first two minutes, which a shorter run calls growth). $COMPARE, $SERVE: further
# flags of compare and of compare -serve.
# Each ends in a line PASS, FAIL or NOT RUN, for a part that found nothing to run on; the
# last line counts them. The exit status is 0 if none failed. What the parts printed is left
# in $OUT (default: out, beside this script). A test that wants a GPU and finds none fails
# here instead of being skipped.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-$here/out}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xJf "$here/parts.tar.xz" || exit 2
# As many GPUs as there are have to be used, and at least one.
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
[ "$gpus" -gt 0 ] || gpus=1
export PURECUDA_REQUIRE_GPU="$gpus"
# A toolkit brings NVRTC: then its tests may not be skipped either.
[ ! -e /usr/local/cuda ] || export PURECUDA_REQUIRE_NVRTC=1
commit=$(cat "$work/commit") || exit 2
: >"$out/summary.txt"
failed=0

say() { echo "$*" | tee -a "$out/summary.txt"; }

# verdict STATUS NAME [REMARK...]
verdict() {
	status=$1
	shift
	if [ "$status" -eq 0 ]; then
		say "PASS $*"
	else
		failed=1
		say "FAIL $* (status $status)"
	fi
}

# shown STATUS FILE NAME: the verdict on an example. One that had nothing to show, because
# this machine lacks what it is about, passed nothing.
shown() {
	why=$(grep -m 1 '^There is nothing to ' "$2")
	if [ "$1" -eq 0 ] && [ -n "$why" ]; then
		say "NOT RUN example $3: $why"
	else
		verdict "$1" "example $3"
	fi
}

# tests_for PART: whether there are tests. A bundle of named parts may have none,
# but then it cannot be asked for what consists of them.
tests_for() {
	[ ! -s "$work/tests.list" ] || return 0
	verdict 1 "$1: there is no test in this bundle"
	return 1
}

part_info() {
	{
		date -u +%Y-%m-%dT%H:%MZ
		echo "commit $commit"
		uname -sr
		grep -m1 'model name' /proc/cpuinfo
		nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
	} >"$out/info.txt" 2>&1
	sed 's/^/     /' "$out/info.txt"
	verdict 0 info
}

part_tests() {
	: >"$out/tests.txt"
	tests_for tests || return 0
	while read -r name folder; do
		echo "=== $folder" >>"$out/tests.txt"
		(cd "$work/data/$folder" && timeout 190 "$work/tests/$name" -test.v -test.timeout 180s) </dev/null >"$work/log" 2>&1
		status=$?
		cat "$work/log" >>"$out/tests.txt"
		passed=$(grep -c '^ *--- PASS' "$work/log")
		skipped=$(grep -c '^ *--- SKIP' "$work/log")
		verdict $status "tests $folder: $passed passed, $skipped skipped"
		if [ $status -ne 0 ]; then
			grep -E '^ *--- FAIL|^panic|^fatal error' "$work/log" | head -20 | sed 's/^/     /'
		fi
	done <"$work/tests.list"
}

# The bandwidth of the kernels at sizes that fill the chip, against a copy's.
part_kernels() {
	(cd "$work/data/ptx/kernels/internal/kernelstest" && PURECUDA_BENCH=1 timeout 130 "$work/tests/ptx_kernels_internal_kernelstest" -test.v -test.timeout 120s -test.run Bandwidth) </dev/null >"$out/kernels.txt" 2>&1
	status=$?
	grep -v '^=== ' "$out/kernels.txt" | sed 's/^/     /'
	grep -q '^ *--- PASS' "$out/kernels.txt" || [ $status -ne 0 ] || status=1
	verdict $status "kernels: bandwidths"
}

part_quickstart() {
	: >"$out/quickstart.txt"
	quickstart "" -device gpu -dim 256 -layers 12
	awk '/^replay against launches:/ { found = 1; ok = $4 >= 30 && $9 >= 1.3 } END { exit !(found && ok) }' "$work/log"
	verdict $? "quickstart: replay takes 30 times less host time and 1.3 times less wall time"
	quickstart "" -device gpu
	quickstart "" -device gpu -dim 1000 -layers 3 -steps 50 -seed 7
	quickstart -static -device emulator
}

quickstart() { # quickstart SUFFIX FLAG...
	program=quickstart$1
	shift
	echo "\$ $program $*" >>"$out/quickstart.txt"
	timeout 120 "$work/$program" "$@" >"$work/log" 2>&1
	status=$?
	{
		cat "$work/log"
		echo
	} >>"$out/quickstart.txt"
	sed 's/^/     /' "$work/log"
	verdict $status "$program $*"
}

part_examples() {
	# NCCL as a Python package brings it, where the system has none.
	if [ -z "${PURECUDA_NCCL:-}" ] && ! ldconfig -p 2>/dev/null | grep -q 'libnccl\.so\.2'; then
		nccl=$(find / -path '*/nvidia/nccl/lib/libnccl.so.2' 2>/dev/null | head -1)
		[ -z "$nccl" ] || export PURECUDA_NCCL="$nccl"
	fi
	: >"$out/examples.txt"
	example first
	for program in "$work"/[0-9]*; do
		example "$(basename "$program")" -device gpu
	done
}

example() { # example NAME FLAG...
	name=$1
	shift
	timeout 60 "$work/$name" "$@" >"$work/log" 2>&1
	status=$?
	{
		echo "\$ $name${*:+ $*}"
		cat "$work/log"
		echo
	} >>"$out/examples.txt"
	shown $status "$work/log" "$name"
}

# The bars of 14-decode, which needs no second program to compare with.
part_decode() {
	timeout 60 "$work/14-decode" -device gpu -bench >"$out/decode.txt" 2>&1
	status=$?
	sed 's/^/     /' "$out/decode.txt"
	verdict $status "decode: a graph makes 1.3 times the tokens per second and takes 20 times less host time than launches"
}

part_compare() {
	timeout 300 "$work/bench/compare" -limit 240s ${COMPARE:-} -note "commit $commit" >"$out/compare.md" 2>"$work/log"
	status=$?
	cat "$work/log" "$out/compare.md"
	verdict $status "compare: every budget against C kept"
	timeout 150 "$work/bench/compare" -kernels -cpus 4,5 -limit 120s -note "commit $commit" >"$out/compare-kernels.md" 2>"$work/log"
	status=$?
	cat "$work/log"
	head -25 "$out/compare-kernels.md"
	verdict $status "compare: launches of all kernels"
}

# A service in Go against one in C, for about 80 seconds. The verdict is that of the table.
part_serve() {
	timeout 150 "$work/bench/compare" -serve 7 -window 600ms -limit 90s -note "commit $commit" ${SERVE:-} >"$out/serve.md" 2>"$work/log"
	status=$?
	cat "$work/log" "$out/serve.md"
	verdict $status "serve: throughput, p99 and allocations of a service against C"
}

part_gobench() {
	: >"$out/gobench.txt"
	tests_for gobench || return 0
	while read -r name folder; do
		(cd "$work/data/$folder" && timeout 200 "$work/tests/$name" -test.run '^$' -test.bench . -test.benchmem -test.benchtime 200ms) </dev/null >"$work/log" 2>&1
		status=$?
		if grep -q '^Benchmark' "$work/log" || [ $status -ne 0 ]; then
			cat "$work/log" >>"$out/gobench.txt"
			verdict $status "benchmarks $folder: $(grep -c '^Benchmark.*ns/op' "$work/log") run"
		fi
	done <"$work/tests.list"
	[ -s "$out/gobench.txt" ] || verdict 1 "gobench: there is no benchmark in this bundle"
}

part_soak() {
	timeout 120 "$work/soak" -device gpu -goroutines 1000 -streams 8 -duration 30s >"$out/soak.txt" 2>&1
	status=$?
	sed 's/^/     /' "$out/soak.txt"
	verdict $status "soak: 1,000 goroutines, 8 streams, 30 s"
}

# NVIDIA's memory checker over tests on the GPU. Under it a node in a loop's body
# that is changed while launches are under way loses the context, without an error
# of the checker and not without the checker: the tests that do that run with
# launches that block. And cuStreamDestroy and cuGraphExecDestroy wait there for work
# under way, which they otherwise do not: tests whose work ends only after such a call
# are left out. So is one that wants a graph to run while a host function blocks another
# stream: under it, the graph waits.
part_memcheck() {
	waits='^(TestAnExecOutlivesItsStreams|TestClosingAnExecOfThePerThreadStream)$'
	inflight='^(TestSteadyStateOfNodesInNodesAllocatesNothing|TestNodeInABodyIsSetWhileLaunchesRun)$'
	: >"$out/memcheck.txt"
	memcheck graph graph "" -test.skip '^TestBindingsLaunchOnTheStreamTheyAreGiven$' -test.run './^gpu$'
	for kind in condtest drivertest faulttest misusetest modeltest; do
		memcheck graph_internal_verify_$kind graph/internal/verify/$kind "" -test.run './^gpu$'
	done
	memcheck graph_internal_inflight graph/internal/inflight "" -test.skip "$waits" -test.run './^gpu$'
	memcheck graph_internal_verify_costtest graph/internal/verify/costtest "" -test.skip "$inflight" -test.run './^gpu$'
	memcheck graph_internal_verify_costtest graph/internal/verify/costtest --force-blocking-launches -test.run "${inflight}/^gpu\$"
	memcheck graph_dataflow graph/dataflow "" -test.run './^gpu$'
	memcheck graph_callable graph/callable "" -test.run './^gpu$'
	memcheck graph_cache graph/cache "" -test.run './^gpu$'
	memcheck graph_view graph/view "" -test.run './^gpu$'
	memcheck internal_verify_parity internal/verify/parity "" -test.run './^gpu$'
	memcheck ptx_kernels_internal_kernelstest ptx/kernels/internal/kernelstest "" -test.run '(Softmax|Norm|Cluster|Rows)/^gpu$'
}

memcheck() { # memcheck BINARY FOLDER OPTION FLAG...
	binary=$1 folder=$2 option=$3
	shift 3
	checker=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
	(cd "$work/data/$folder" && timeout "${MEMCHECK:-300}" "$checker" --tool memcheck --report-api-errors no --error-exitcode 99 $option \
		"$work/tests/$binary" -test.v -test.timeout 290s "$@") </dev/null >"$work/log" 2>&1
	status=$?
	cat "$work/log" >>"$out/memcheck.txt"
	grep -E 'ERROR SUMMARY|^=========.*(Invalid|Error)|--- FAIL' "$work/log" | head -20 | sed 's/^/     /'
	passed=$(grep -c '^ *--- PASS.*/gpu' "$work/log")
	[ "$passed" -gt 0 ] || [ $status -ne 0 ] || status=1 # a pattern that fits no test checks nothing
	verdict $status "memcheck $folder $option: $passed passed, $(grep -c '^ *--- SKIP.*/gpu' "$work/log") skipped"
}

part_graphsoak() {
	"$work/soak" -device gpu -task graphs -goroutines 16 -duration "${GRAPHSOAK:-480s}" >"$out/graphsoak.txt" 2>&1
	status=$?
	sed 's/^/     /' "$out/graphsoak.txt"
	verdict $status "graphsoak: 16 goroutines, ${GRAPHSOAK:-480s}"
}

[ $# -gt 0 ] || set -- info tests kernels quickstart examples decode compare serve gobench soak memcheck graphsoak
for part; do
	case $part in
	info | tests | kernels | quickstart | examples | decode | compare | serve | gobench | soak | memcheck | graphsoak) part_$part ;;
	*)
		echo "run.sh: no part $part" >&2
		exit 2
		;;
	esac
done
say "$(grep -c '^PASS' "$out/summary.txt") passed, $(grep -c '^FAIL' "$out/summary.txt") failed, $(grep -c '^NOT RUN' "$out/summary.txt") not run"
exit $failed
