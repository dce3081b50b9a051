//go:build !race

#include "textflag.h"

// func storeRelease(held *atomic.Uint32)
// On amd64, other processors observe stores in program order, so a plain store releases.
TEXT ·storeRelease(SB), NOSPLIT, $0-8
	MOVQ held+0(FP), AX
	MOVL $0, (AX)
	RET
