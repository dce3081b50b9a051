//go:build !race

#include "textflag.h"

// func storeRelease(held *atomic.Uint32)
// Stores are seen in their order on this architecture: a plain one releases.
TEXT ·storeRelease(SB), NOSPLIT, $0-8
	MOVQ held+0(FP), AX
	MOVL $0, (AX)
	RET
