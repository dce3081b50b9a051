#!/bin/sh
# Runs a windows/amd64 program under Wine, for "go test -exec".
#
# Wine 8 lacks bcryptprimitives.dll, which Go's runtime wants one function of,
# so the prefix is given a library with that function. Needs Debian's wine64
# and gcc-mingw-w64-x86-64.
#
# usage: WINEPREFIX=DIR scripts/wine-run.sh PROGRAM [ARGUMENT ...]
set -eu
: "${WINEPREFIX:?names the folder for Wine}"
export WINEPREFIX WINEARCH=win64 WINEDEBUG=-all

mkdir -p "$WINEPREFIX"
dll=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
exec 9>"$WINEPREFIX/lock"
flock 9 # whoever comes first makes the prefix, and the others wait for it
if [ ! -e "$dll" ]; then
	# What tests leave in Wine's folders is not of this module.
	echo "module wine" >"$WINEPREFIX/go.mod"
	# The first test in CI once failed in here without any output, and the next one passed.
	# So wineboot is tried again, and what it prints is shown. The server that it starts
	# must not inherit the lock, or it would keep it.
	try=1
	until wineboot -i >"$WINEPREFIX/wineboot.txt" 2>&1 9>&-; do
		if [ $try = 3 ]; then
			echo "wine-run: wineboot failed $try times and printed:" >&2
			cat "$WINEPREFIX/wineboot.txt" >&2
			exit 1
		fi
		try=$((try + 1))
		wineserver -k 9>&- || true
		sleep 2
	done
	cat >"$WINEPREFIX/prng.c" <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE p, SIZE_T n) { return SystemFunction036(p, (ULONG)n); }
C
	x86_64-w64-mingw32-gcc -shared -o "$WINEPREFIX/prng.dll" "$WINEPREFIX/prng.c" -ladvapi32
	mv "$WINEPREFIX/prng.dll" "$dll"
fi
exec 9>&-
exec wine "$@"
