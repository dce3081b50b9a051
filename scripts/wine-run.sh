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

dll=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
if [ ! -e "$dll" ]; then
	mkdir -p "$WINEPREFIX"
	# What tests leave in Wine's folders is not of this module.
	echo "module wine" >"$WINEPREFIX/go.mod"
	wineboot -i >/dev/null 2>&1
	cat >"$WINEPREFIX/prng.c" <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE p, SIZE_T n) { return SystemFunction036(p, (ULONG)n); }
C
	x86_64-w64-mingw32-gcc -shared -o "$dll" "$WINEPREFIX/prng.c" -ladvapi32
fi
exec wine "$@"
