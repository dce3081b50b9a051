//go:build linux && !static && !purecuda_syscall

#include "textflag.h"

// Offsets in Call, Proc, Scope and batchHead. layout_test.go checks them.
#define CALL_PROC   0
#define CALL_SCOPE  8
#define CALL_N     16
#define CALL_RET   24
#define CALL_ARGS  32

#define SCOPE_VALUE     0
#define SCOPE_GET       8
#define SCOPE_SET      16
#define SCOPE_EXCHANGE 24

// In a batch, this word of a Call is the address of the next Call.
#define CALL_NEXT   8

#define BATCH_SCOPE 0
#define BATCH_FIRST 8
#define BATCH_N    16
#define BATCH_DONE 24
#define BATCH_RET  32

// The routines below follow AAPCS64. They are called on the system stack with their argument in R0,
// and preserve R19 to R29. R18 is reserved for the platform.
//
// The frame, upwards from R29, contains R29, R30 and R19 to R24, followed by:
//  64(R29) the current context   72(R29) the capture mode   80(R29) the batch
#define ENTER \
	SUB  $96, RSP; \
	STP  (R29, R30), 0(RSP); \
	STP  (R19, R20), 16(RSP); \
	STP  (R21, R22), 32(RSP); \
	STP  (R23, R24), 48(RSP); \
	MOVD RSP, R29

#define LEAVE \
	MOVD R29, RSP; \
	LDP  16(RSP), (R19, R20); \
	LDP  32(RSP), (R21, R22); \
	LDP  48(RSP), (R23, R24); \
	LDP  0(RSP), (R29, R30); \
	ADD  $96, RSP

// RUN makes the call headed by R19 and leaves the result in R0. The first eight words go to
// registers. The others go to the stack in the same order, one slot each. If the count has bits for
// floating-point words (see FloatArg), RUN jumps to floats.
#define RUN(stack, copy, registers, floats, ran) \
	MOVD CALL_N(R19), R9; \
	CMP  $8, R9; \
	BLS  registers; \
stack: \
	CMP  $255, R9; \
	BHI  floats; \
	SUB  $8, R9; \
	ADD  $1, R9, R10; \
	AND  $~1, R10; \
	LSL  $3, R10; \
	MOVD RSP, R11; \
	SUB  R10, R11; \
	MOVD R11, RSP; \
	ADD  $(CALL_ARGS+64), R19, R12; \
copy: \
	MOVD.P 8(R12), R13; \
	MOVD.P R13, 8(R11); \
	SUB  $1, R9; \
	CBNZ R9, copy; \
registers: \
	MOVD CALL_PROC(R19), R9; \
	MOVD (R9), R9; \
	LDP  (CALL_ARGS+0)(R19), (R0, R1); \
	LDP  (CALL_ARGS+16)(R19), (R2, R3); \
	LDP  (CALL_ARGS+32)(R19), (R4, R5); \
	LDP  (CALL_ARGS+48)(R19), (R6, R7); \
	BL   (R9); \
	MOVD R29, RSP; \
ran:

// SCOPED establishes the scope in R20. It sets R22 to the exchange function if it changed the mode,
// otherwise to 0. On a failure, it jumps to failed with the result in R0.
#define SCOPED(guard, done, failed) \
	MOVD SCOPE_VALUE(R20), R21; \
	CBZ  R21, guard; \
	MOVD SCOPE_GET(R20), R9; \
	MOVD (R9), R9; \
	ADD  $64, R29, R0; \
	BL   (R9); \
	CBNZW R0, failed; \
	MOVD 64(R29), R9; \
	CMP  R9, R21; \
	BEQ  guard; \
	MOVD SCOPE_SET(R20), R9; \
	MOVD (R9), R9; \
	MOVD R21, R0; \
	BL   (R9); \
	CBNZW R0, failed; \
guard: \
	MOVD SCOPE_EXCHANGE(R20), R22; \
	CBZ  R22, done; \
	MOVD (R22), R22; \
	MOVD $2, R9; \
	MOVD R9, 72(R29); \
	ADD  $72, R29, R0; \
	BL   (R22); \
	CBNZW R0, failed

// callWithFloats makes the call headed by R19, which has floating-point words, and leaves the
// result in R0. Integer words go to the general registers and floating-point words to the vector
// registers, in the order of C's arguments. Words without a free register go to the stack in the
// same order. R12 points to the buffer for the register words: eight general, then eight vector
// words.
TEXT callWithFloats<>(SB), NOSPLIT|NOFRAME, $0
	SUB  $16, RSP
	STP  (R29, R30), 0(RSP)
	MOVD RSP, R29
	MOVD CALL_N(R19), R9
	AND  $255, R9, R10 // words
	AND  $0x7fffffff, R9
	LSR  $8, R9        // their kinds
	ADD  $1, R10, R11
	AND  $~1, R11
	LSL  $3, R11
	MOVD RSP, R12
	SUB  $128, R12
	SUB  R11, R12, R13 // the next place on the stack
	MOVD R13, RSP
	ADD  $CALL_ARGS, R19, R14
	MOVD ZR, R15       // general registers taken
	MOVD ZR, R8        // vector registers taken

word:
	CBZ    R10, load
	SUB    $1, R10
	MOVD.P 8(R14), R7
	AND    $1, R9, R6
	LSR    $1, R9
	CBZ    R6, general
	CMP    $8, R8
	BEQ    memory
	ADD    R8<<3, R12, R6
	MOVD   R7, 64(R6)
	ADD    $1, R8
	B      word

general:
	CMP  $8, R15
	BEQ  memory
	ADD  R15<<3, R12, R6
	MOVD R7, (R6)
	ADD  $1, R15
	B    word

memory:
	MOVD.P R7, 8(R13)
	B      word

load:
	FMOVD 64(R12), F0
	FMOVD 72(R12), F1
	FMOVD 80(R12), F2
	FMOVD 88(R12), F3
	FMOVD 96(R12), F4
	FMOVD 104(R12), F5
	FMOVD 112(R12), F6
	FMOVD 120(R12), F7
	MOVD  CALL_PROC(R19), R9
	MOVD  (R9), R9
	LDP   0(R12), (R0, R1)
	LDP   16(R12), (R2, R3)
	LDP   32(R12), (R4, R5)
	LDP   48(R12), (R6, R7)
	BL    (R9)
	MOVD  CALL_N(R19), R9
	TBZ   $31, R9, out
	FMOVD F0, R0

out:
	MOVD R29, RSP
	LDP  0(RSP), (R29, R30)
	ADD  $16, RSP
	RET

// trampoline makes one call. R0 is a *Call.
TEXT trampoline<>(SB), NOSPLIT|NOFRAME, $0
	ENTER
	MOVD R0, R19
	MOVD ZR, R22
	MOVD CALL_SCOPE(R19), R20
	CBZ  R20, run
	SCOPED(guard, run, failed)

run:
	RUN(stack, copy, registers, floats, ran)
	MOVD R0, CALL_RET(R19)
	CBZ  R22, out
	ADD  $72, R29, R0
	BL   (R22)

out:
	LEAVE
	RET

failed:
	MOVWU R0, R0
	MOVD  R0, CALL_RET(R19)
	B     out

floats:
	BL callWithFloats<>(SB)
	B  ran

// batchTrampoline makes several calls and stops after the first whose result is not 0. R0 is a
// *batchHead. R24 is the number of calls still to make.
TEXT batchTrampoline<>(SB), NOSPLIT|NOFRAME, $0
	ENTER
	MOVD R0, 80(R29)
	MOVD ZR, R22
	MOVD BATCH_SCOPE(R0), R20
	CBZ  R20, begin
	SCOPED(guard, begin, failed)

begin:
	MOVD 80(R29), R9
	MOVD BATCH_FIRST(R9), R19
	MOVD BATCH_N(R9), R24
	MOVD ZR, R0
	CBZ  R24, end

next:
	RUN(stack, copy, registers, floats, ran)
	MOVD R0, CALL_RET(R19)
	CBNZW R0, end
	MOVD CALL_NEXT(R19), R19
	SUB  $1, R24
	CBNZ R24, next

end:
	MOVD  80(R29), R9
	MOVWU R0, R0
	MOVD  R0, BATCH_RET(R9)
	MOVD  BATCH_N(R9), R10
	SUB   R24, R10
	MOVD  R10, BATCH_DONE(R9)
	CBZ   R22, out
	ADD   $72, R29, R0
	BL    (R22)

out:
	LEAVE
	RET

failed:
	MOVD  80(R29), R9
	MOVWU R0, R0
	MOVD  R0, BATCH_RET(R9)
	MOVD  ZR, BATCH_DONE(R9)
	B     out

floats:
	BL callWithFloats<>(SB)
	B  ran

GLOBL ·trampoline(SB), NOPTR|RODATA, $8
DATA ·trampoline(SB)/8, $trampoline<>(SB)

GLOBL ·batchTrampoline(SB), NOPTR|RODATA, $8
DATA ·batchTrampoline(SB)/8, $batchTrampoline<>(SB)
