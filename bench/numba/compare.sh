#!/bin/sh
# saxpy on the emulator and on numba's CUDA simulator, on this machine, one after
# the other: bench/numba/compare.sh [EMUBENCH]
# EMUBENCH is the built program bench/cmd/emubench; without it, it is built here.
# Needs python3 with numba. Ends with 1 if one worker is not 300 times as fast.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -gt 0 ]; then
	emulated=$("$1")
else
	emulated=$(cd "$here/.." && CGO_ENABLED=0 go run ./cmd/emubench)
fi
simulated=$(NUMBA_ENABLE_CUDASIM=1 python3 "$here/saxpy.py" | tail -n 1)
grep -m 1 "model name" /proc/cpuinfo || uname -m
printf '%s\n%s\n' "$emulated" "$simulated" | awk '
	{ print $0 " elements/s"; rate[NR] = $3 }
	END { times = rate[1] / rate[NR]; printf "one worker is %.0f times as fast\n", times; exit times < 300 }'
