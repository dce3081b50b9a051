package ptx_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

func registers(t testing.TB, src string) ptx.Registers {
	t.Helper()
	return inspected(t, src).Registers
}

func inspected(t testing.TB, src string) ptx.FunctionInfo {
	t.Helper()
	i := ptx.Inspect(parse(t, header+".entry k(.param .u64 p) {\n.reg .b32 %r<100>; .reg .b64 %rd<100>; .reg .pred %p<20>; .reg .b16 %rs<9>; .reg .b128 %rq<4>;\n"+src+"\n}\n"))
	if len(i.Kernels) != 1 {
		t.Fatalf("%d kernels", len(i.Kernels))
	}
	return i.Kernels[0]
}

func TestLiveRegisters(t *testing.T) {
	for name, test := range map[string]struct {
		src         string
		live, preds int
	}{
		"nothing":           {"ret;", 0, 0},
		"one result":        {"mov.u32 %r1, 1; ret;", 1, 0},
		"unused results":    {"mov.u32 %r1, 1; mov.u32 %r2, 1; ret;", 1, 0},
		"three at once":     {"mov.u32 %r1, 1; mov.u32 %r2, 1; mov.u32 %r3, 1; add.u32 %r4, %r1, %r2; add.u32 %r5, %r4, %r3; st.u32 [0], %r5;", 3, 0},
		"result in place":   {"mov.u32 %r1, 1; mov.u32 %r2, 1; add.u32 %r3, %r1, %r2; st.u32 [0], %r3;", 2, 0},
		"wide":              {"mov.u64 %rd1, 1; mov.u64 %rd2, 1; st.u64 [%rd1], %rd2;", 4, 0},
		"narrow":            {"mov.u16 %rs1, 1; mov.u16 %rs2, 2; st.u16 [0], %rs1; st.u16 [2], %rs2;", 2, 0},
		"128 bits":          {"mov.b128 %rq1, {%rd1, %rd2}; st.b128 [0], %rq1;", 4, 0},
		"predicates":        {"setp.eq.u32 %p1|%p2, 1, 2; @%p1 st.u32 [0], 1; @%p2 st.u32 [0], 2;", 0, 2},
		"vector load":       {"mov.u64 %rd1, 0; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1]; st.v4.u32 [0], {%r1, %r2, %r3, %r4};", 4, 0},
		"address is read":   {"mov.u64 %rd1, 0; mov.u32 %r1, 0; st.global.u32 [%rd1+4], %r1;", 3, 0},
		"sink":              {"mov.u32 %r1, 1; shfl.sync.bfly.b32 _|%p1, %r1, 1, 31, -1; @%p1 ret;", 1, 1},
		"special registers": {"mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; st.v2.u32 [0], {%r1, %r2};", 2, 0},
		"indirect call":     {"mov.u64 %rd1, 1; q: .callprototype _ (.param .b64 _); call %rd1, (%rd2), q;", 4, 0},
		"loop": {`mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 7;
			L: add.u32 %r2, %r2, %r3; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 10; @%p1 bra L;
			st.u32 [0], %r2;`, 3, 1},
		"one side of a branch": {`mov.u32 %r1, 1; setp.eq.u32 %p1, %r1, 2; @%p1 bra L;
			mov.u32 %r2, 1; mov.u32 %r3, 1; mov.u32 %r4, 1; add.u32 %r2, %r2, %r3; add.u32 %r1, %r2, %r4;
			L: st.u32 [0], %r1;`, 3, 1},
		"live across a call": {"mov.u32 %r1, 1; mov.u32 %r2, 1; call f; st.u32 [0], %r1; st.u32 [0], %r2;", 2, 0},
		"written under a guard": {`mov.u32 %r9, 1; mov.u32 %r8, 1; st.v2.u32 [0], {%r8, %r9};
			setp.eq.u32 %p1, 1, 2; @%p1 ld.u32 %r1, [0]; @%p1 st.u32 [4], %r1;`, 2, 1},
		"kept under a guard": {"mov.u32 %r1, 0; mov.u32 %r2, 5; setp.eq.u32 %p1, %r2, 2; @%p1 mov.u32 %r1, %r2; st.u32 [0], %r1;", 2, 1},
		"jump table": {`mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 0; ts: .branchtargets A, B; brx.idx %r3, ts;
			A: st.u32 [0], %r1; ret; B: st.u32 [0], %r2; ret;`, 3, 0},
		"unreachable":      {"ret; mov.u32 %r1, 1; mov.u32 %r2, 1; st.v2.u32 [0], {%r1, %r2};", 2, 0},
		"scopes hide":      {"mov.u32 %r1, 1; { .reg .b64 %r1; mov.u64 %r1, 1; st.u64 [0], %r1; } st.u32 [0], %r1;", 3, 0},
		"labels of scopes": {`mov.u32 %r1, 1; { L: st.u32 [0], 1; bra L; } { L: st.u32 [0], %r1; bra L; }`, 1, 0},
		"accumulates":      {"mov.u32 %r1, 1; mov.u64 %rd1, 1; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r1}, %rd1, %rd1, 1, 1, 1, 0, 0; st.u32 [0], %r1;", 3, 0},
		"guarded far from the most": {`setp.eq.u32 %p1, 1, 2; bra.uni A;
			B: @%p1 ld.u32 %r1, [0];
			C: @%p1 st.u32 [4], %r1; ret;
			A: mov.u32 %r7, 1; mov.u32 %r8, 1; mov.u32 %r9, 1; st.v2.u32 [0], {%r8, %r9}; st.u32 [8], %r7; bra.uni B;`, 3, 1},
		"guarded on both sides of the most": {`setp.eq.u32 %p1, 1, 2; bra.uni X;
			X: @%p1 ld.u32 %r1, [0]; bra.uni Y;
			Z: @%p1 st.u32 [4], %r1; ret;
			Y: mov.u32 %r7, 1; mov.u32 %r8, 1; mov.u32 %r9, 1; st.v2.u32 [0], {%r8, %r9}; st.u32 [8], %r7; bra.uni Z;`, 4, 1},
		"guarded in the block of the most": {`setp.eq.u32 %p1, 1, 2; bra.uni X;
			X: mov.u32 %r7, 1; mov.u32 %r8, 1; @%p1 ld.u32 %r1, [0]; mov.u32 %r9, 1; st.v2.u32 [0], {%r7, %r8}; st.u32 [8], %r9; bra.uni Z;
			Z: @%p1 st.u32 [4], %r1; ret;`, 4, 1},
		"written anew in each round": {`mov.u32 %r1, 0;
			L: mov.u32 %r2, 5; add.u32 %r1, %r1, %r2; mov.u32 %r3, 1; mov.u32 %r4, 1; st.v2.u32 [0], {%r3, %r4};
			setp.lt.u32 %p1, %r1, 10; @%p1 bra L; st.u32 [0], %r1;`, 3, 1},
		"numbers of a range": {"{ .reg .b32 a<16>; mov.u32 a15, 1; mov.u32 a9, 1; st.u32 [0], a15; st.u32 [0], a9; }", 2, 0},
		"range in a range":   {".reg .b32 a<2>; .reg .b64 a1<3>; mov.u32 a1, 1; mov.u64 a12, 1; st.u32 [0], a1; st.u64 [0], a12;", 3, 0},
	} {
		if r := registers(t, test.src); r.Live != test.live || r.LivePreds != test.preds {
			t.Errorf("%s: %d live and %d predicates, want %d and %d", name, r.Live, r.LivePreds, test.live, test.preds)
		}
	}
}

// A body without instructions must have an estimate of zero, not an unknown one.
func TestAnEmptyBodyNeedsNoRegisters(t *testing.T) {
	for _, src := range []string{"", "L:", "{ }"} {
		if r := registers(t, src); r.Live != 0 || r.LivePreds != 0 {
			t.Errorf("%q: %d live and %d predicates", src, r.Live, r.LivePreds)
		}
	}
}

func TestWhereMostRegistersLive(t *testing.T) {
	r := registers(t, "mov.u32 %r1, 1;\nmov.u32 %r2, 1;\nadd.u32 %r3, %r1, %r2;\nst.u32 [0], %r3;")
	if r.At.Line != 7 && r.At.Line != 8 {
		t.Errorf("at %v", r.At)
	}
}

func TestDeclaredRegisters(t *testing.T) {
	r := registers(t, "{ .reg .f16x2 h; .reg .v2 .f32 v; .reg .pred q; } ret;")
	if r.Preds != 21 || r.Bits16 != 9 || r.Bits32 != 103 || r.Bits64 != 100 || r.Bits128 != 4 || r.Declared() != 237 {
		t.Errorf("%+v", r)
	}
}

// A body in which many registers are live in many blocks must get no estimate, because
// computing it would take minutes.
func TestTangledBodiesHaveNoEstimate(t *testing.T) {
	var b strings.Builder
	const n = 9000
	fmt.Fprintf(&b, ".reg .b32 x<%d>;\n", n)
	for i := range n {
		fmt.Fprintf(&b, "mov.u32 x%d, 1; L%d:\n", i, i)
	}
	for i := range n {
		fmt.Fprintf(&b, "st.u32 [0], x%d; M%d:\n", i, i)
	}
	if r := registers(t, b.String()); r.Live != -1 || r.LivePreds != -1 || r.Bits32 != n+100 {
		t.Errorf("%+v", r)
	}
}
