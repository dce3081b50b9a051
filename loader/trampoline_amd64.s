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

// The routines below follow the System V ABI. They are called on the system stack with their
// argument in DI, and preserve BX, BP and R12 to R15.
//
// The frame, downwards from BP, contains BX, R12, R13, R14, R15 and a spare word, which makes SP a
// multiple of 16. Two words for results of the scope's functions follow:
//  0(SP) the current context      8(SP) the capture mode
#define ENTER \
	PUSHQ BP; \
	MOVQ  SP, BP; \
	PUSHQ BX; \
	PUSHQ R12; \
	PUSHQ R13; \
	PUSHQ R14; \
	PUSHQ R15; \
	SUBQ  $24, SP

#define LEAVE \
	LEAQ -40(BP), SP; \
	POPQ R15; \
	POPQ R14; \
	POPQ R13; \
	POPQ R12; \
	POPQ BX; \
	POPQ BP

// PASS is the part of a call that RUN and RUNFRAME share. At label stack, CX exceeds the number of
// argument registers or contains bits for floating-point words (see FloatArg).
#define PASS(stack, copy, registers, floats, ran) \
stack: \
	CMPQ  CX, $255; \
	JHI   floats; \
	SUBQ  $6, CX; \
	LEAQ  1(CX), DX; \
	ANDQ  $-2, DX; \
	SHLQ  $3, DX; \
	SUBQ  DX, SP; \
	MOVQ  SP, DI; \
	LEAQ  (CALL_ARGS+48)(BX), SI; \
copy: \
	MOVQ  -8(SI)(CX*8), AX; \
	MOVQ  AX, -8(DI)(CX*8); \
	DECQ  CX; \
	JNZ   copy; \
registers: \
	MOVQ  CALL_PROC(BX), AX; \
	MOVQ  (CALL_ARGS+0)(BX), DI; \
	MOVQ  (CALL_ARGS+8)(BX), SI; \
	MOVQ  (CALL_ARGS+16)(BX), DX; \
	MOVQ  (CALL_ARGS+24)(BX), CX; \
	MOVQ  (CALL_ARGS+32)(BX), R8; \
	MOVQ  (CALL_ARGS+40)(BX), R9; \
	CALL  (AX); \
	LEAQ  -64(BP), SP; \
ran:

// RUN makes the call headed by BX and leaves the result in AX. The first six words go to registers.
// The others go to the stack in the same order.
#define RUN(stack, copy, registers, floats, ran) \
	MOVQ  CALL_N(BX), CX; \
	CMPQ  CX, $6; \
	JLS   registers; \
	PASS(stack, copy, registers, floats, ran)

// RUNFRAME is RUN for a frame of a batch. The memory after its words is readable, so up to eight
// words go to the stack without a loop. The end of a loop would be mispredicted after every
// function that has branches of its own. The next frame may have left the cache since it was
// written, so it is prefetched while the call runs. After the last frame, prefetching an invalid
// address is harmless.
#define RUNFRAME(stack, copy, registers, floats, ran) \
	MOVQ  CALL_NEXT(BX), AX; \
	PREFETCHT0 (AX); \
	PREFETCHT0 64(AX); \
	PREFETCHT0 128(AX); \
	MOVQ  CALL_N(BX), CX; \
	CMPQ  CX, $6; \
	JLS   registers; \
	CMPQ  CX, $14; \
	JHI   stack; \
	SUBQ  $64, SP; \
	MOVQ  (CALL_ARGS+48)(BX), AX; \
	MOVQ  (CALL_ARGS+56)(BX), DX; \
	MOVQ  (CALL_ARGS+64)(BX), SI; \
	MOVQ  (CALL_ARGS+72)(BX), DI; \
	MOVQ  AX, 0(SP); \
	MOVQ  DX, 8(SP); \
	MOVQ  SI, 16(SP); \
	MOVQ  DI, 24(SP); \
	MOVQ  (CALL_ARGS+80)(BX), AX; \
	MOVQ  (CALL_ARGS+88)(BX), DX; \
	MOVQ  (CALL_ARGS+96)(BX), SI; \
	MOVQ  (CALL_ARGS+104)(BX), DI; \
	MOVQ  AX, 32(SP); \
	MOVQ  DX, 40(SP); \
	MOVQ  SI, 48(SP); \
	MOVQ  DI, 56(SP); \
	JMP   registers; \
	PASS(stack, copy, registers, floats, ran)

// SCOPED establishes the scope in R12. It sets R14 to the exchange function if it changed the mode,
// otherwise to 0. On a failure, it jumps to failed with the result in AX.
#define SCOPED(guard, done, failed) \
	MOVQ  SCOPE_VALUE(R12), R13; \
	TESTQ R13, R13; \
	JEQ   guard; \
	MOVQ  SCOPE_GET(R12), AX; \
	MOVQ  SP, DI; \
	CALL  (AX); \
	TESTL AX, AX; \
	JNE   failed; \
	CMPQ  R13, 0(SP); \
	JEQ   guard; \
	MOVQ  SCOPE_SET(R12), AX; \
	MOVQ  R13, DI; \
	CALL  (AX); \
	TESTL AX, AX; \
	JNE   failed; \
guard: \
	MOVQ  SCOPE_EXCHANGE(R12), R14; \
	TESTQ R14, R14; \
	JEQ   done; \
	MOVQ  (R14), R14; \
	MOVQ  $2, 8(SP); \
	LEAQ  8(SP), DI; \
	CALL  R14; \
	TESTL AX, AX; \
	JNE   failed

// callWithFloats makes the call headed by BX, which has floating-point words, and leaves the result
// in AX. Integer words go to the integer registers and floating-point words to the vector
// registers, in the order of C's arguments. Words without a free register go to the stack in the
// same order. R9 points to the buffer for the register words: six integer, then eight vector words.
TEXT callWithFloats<>(SB), NOSPLIT|NOFRAME, $0
	PUSHQ   BP
	MOVQ    SP, BP
	MOVQ    CALL_N(BX), CX
	MOVBLZX CX, R8          // words
	ANDL    $0x7fffffff, CX
	SHRL    $8, CX          // their kinds
	LEAQ    1(R8), DX
	ANDQ    $-2, DX
	SHLQ    $3, DX
	SUBQ    $112, SP
	MOVQ    SP, R9
	SUBQ    DX, SP
	MOVQ    SP, R10         // the next place on the stack
	LEAQ    CALL_ARGS(BX), SI
	XORL    R11, R11        // integer registers taken
	XORL    R15, R15        // vector registers taken

word:
	TESTQ R8, R8
	JEQ   load
	DECQ  R8
	MOVQ  (SI), AX
	ADDQ  $8, SI
	SHRL  $1, CX
	JCC   integer
	CMPQ  R15, $8
	JEQ   memory
	MOVQ  AX, 48(R9)(R15*8)
	INCQ  R15
	JMP   word

integer:
	CMPQ R11, $6
	JEQ  memory
	MOVQ AX, (R9)(R11*8)
	INCQ R11
	JMP  word

memory:
	MOVQ AX, (R10)
	ADDQ $8, R10
	JMP  word

load:
	MOVSD 48(R9), X0
	MOVSD 56(R9), X1
	MOVSD 64(R9), X2
	MOVSD 72(R9), X3
	MOVSD 80(R9), X4
	MOVSD 88(R9), X5
	MOVSD 96(R9), X6
	MOVSD 104(R9), X7
	MOVQ  0(R9), DI
	MOVQ  8(R9), SI
	MOVQ  16(R9), DX
	MOVQ  24(R9), CX
	MOVQ  32(R9), R8
	MOVQ  40(R9), R9
	MOVQ  CALL_PROC(BX), R11
	MOVL  R15, AX           // number of vector registers, for variadic functions
	CALL  (R11)
	MOVQ  CALL_N(BX), CX
	TESTL $0x80000000, CX
	JEQ   out
	MOVQ  X0, AX

out:
	MOVQ BP, SP
	POPQ BP
	RET

// trampoline makes one call. DI is a *Call.
TEXT trampoline<>(SB), NOSPLIT|NOFRAME, $0
	ENTER
	MOVQ  DI, BX
	XORL  R14, R14
	MOVQ  CALL_SCOPE(BX), R12
	TESTQ R12, R12
	JEQ   run
	SCOPED(guard, run, failed)

run:
	RUN(stack, copy, registers, floats, ran)
	MOVQ  AX, CALL_RET(BX)
	TESTQ R14, R14
	JEQ   out
	LEAQ  8(SP), DI
	CALL  R14

out:
	LEAVE
	RET

failed:
	MOVLQZX AX, AX
	MOVQ    AX, CALL_RET(BX)
	JMP     out

floats:
	CALL callWithFloats<>(SB)
	JMP  ran

// batchTrampoline makes several calls and stops after the first whose result is not 0. DI is a
// *batchHead. R13 is the number of calls still to make.
TEXT batchTrampoline<>(SB), NOSPLIT|NOFRAME, $0
	ENTER
	MOVQ  DI, 16(SP)
	XORL  R14, R14
	MOVQ  BATCH_SCOPE(DI), R12
	TESTQ R12, R12
	JEQ   begin
	SCOPED(guard, begin, failed)

begin:
	MOVQ  16(SP), DI
	MOVQ  BATCH_FIRST(DI), BX
	MOVQ  BATCH_N(DI), R13
	XORL  AX, AX
	TESTQ R13, R13
	JEQ   end

next:
	RUNFRAME(stack, copy, registers, floats, ran)
	MOVQ  AX, CALL_RET(BX)
	TESTL AX, AX
	JNE   end
	MOVQ  CALL_NEXT(BX), BX
	DECQ  R13
	JNE   next

end:
	MOVQ    16(SP), DI
	MOVLQZX AX, AX
	MOVQ    AX, BATCH_RET(DI)
	MOVQ    BATCH_N(DI), CX
	SUBQ    R13, CX
	MOVQ    CX, BATCH_DONE(DI)
	TESTQ   R14, R14
	JEQ     out
	LEAQ    8(SP), DI
	CALL    R14

out:
	LEAVE
	RET

failed:
	MOVQ    16(SP), DI
	MOVLQZX AX, AX
	MOVQ    AX, BATCH_RET(DI)
	MOVQ    $0, BATCH_DONE(DI)
	JMP     out

floats:
	CALL callWithFloats<>(SB)
	JMP  ran

GLOBL ·trampoline(SB), NOPTR|RODATA, $8
DATA ·trampoline(SB)/8, $trampoline<>(SB)

GLOBL ·batchTrampoline(SB), NOPTR|RODATA, $8
DATA ·batchTrampoline(SB)/8, $batchTrampoline<>(SB)
