package vm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// threadOut returns a kernel k(out) that runs body and stores each thread's %d.
func threadOut(body string) string {
	return `.visible .entry k(.param .u64 out)
{
	.reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<8>; .reg .b32 %d;
	.reg .u64 %out;
	ld.param.u64 %out, [out];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %rd0, %r0, 4;
	add.u64 %out, %out, %rd0;
	` + body + `
	st.global.u32 [%out], %d;
	ret;
}`
}

func runThreads(t *testing.T, n int, body string) []uint32 {
	t.Helper()
	m := load(t, threadOut(body))
	out := upload(m, make([]uint32, n))
	m.mustLaunch("k", n, out)
	return download[uint32](m, out, n)
}

func TestLoopsWithDifferentTripCounts(t *testing.T) {
	got := runThreads(t, 96, `
	mov.u32 %d, 0;
	mov.u32 %r1, 0;
L:	setp.gt.u32 %p0, %r1, %r0;
	@%p0 bra DONE;
	add.u32 %d, %d, %r1;
	add.u32 %r1, %r1, 1;
	bra.uni L;
DONE:`)
	for i, v := range got {
		if want := uint32(i * (i + 1) / 2); v != want {
			t.Errorf("thread %d: %d, want %d", i, v, want)
		}
	}
}

func TestNestedDivergence(t *testing.T) {
	got := runThreads(t, 64, `
	mov.u32 %d, 0;
	and.b32 %r1, %r0, 1;
	setp.eq.u32 %p0, %r1, 0;
	@%p0 bra EVEN;
	and.b32 %r1, %r0, 2;
	setp.eq.u32 %p1, %r1, 0;
	@!%p1 bra ODD2;
	mov.u32 %d, 1;
	bra JOIN;
ODD2:
	mov.u32 %d, 2;
	bra JOIN;
EVEN:
	mov.u32 %d, 3;
	setp.lt.u32 %p2, %r0, 10;
	@%p2 add.u32 %d, %d, 100;
JOIN:
	activemask.b32 %r2;
	popc.b32 %r3, %r2;
	mad.lo.u32 %d, %r3, 1000, %d;`)
	for i, v := range got {
		want := uint32(3)
		switch {
		case i%2 == 1 && i&2 == 0:
			want = 1
		case i%2 == 1:
			want = 2
		case i < 10:
			want = 103
		}
		if want += 32000; v != want { // all lanes have converged again
			t.Errorf("thread %d: %d, want %d", i, v, want)
		}
	}
}

func TestEarlyExitLeavesTheOthersRunning(t *testing.T) {
	m := load(t, threadOut(`
	mov.u32 %d, 7;
	and.b32 %r1, %r0, 3;
	setp.eq.u32 %p0, %r1, 1;
	@%p0 exit;
	setp.eq.u32 %p1, %r1, 2;
	@%p1 ret;
	bar.sync 0;
	mov.u32 %d, 9;`))
	out := upload(m, make([]uint32, 64))
	m.mustLaunch("k", 64, out)
	for i, v := range download[uint32](m, out, 64) {
		if want := map[int]uint32{0: 9, 1: 0, 2: 0, 3: 9}[i%4]; v != want {
			t.Errorf("thread %d: %d, want %d", i, v, want)
		}
	}
}

func TestSpinLockInsideAWarp(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 lock, .param .u64 count)
{
	.reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<3>;
	ld.param.u64 %rd1, [lock];
	ld.param.u64 %rd2, [count];
SPIN:
	atom.global.cas.b32 %r1, [%rd1], 0, 1;
	setp.ne.u32 %p, %r1, 0;
	@%p bra SPIN;
	ld.volatile.global.u32 %r2, [%rd2];
	add.u32 %r2, %r2, 1;
	st.volatile.global.u32 [%rd2], %r2;
	membar.gl;
	atom.global.exch.b32 %r3, [%rd1], 0;
	ret;
}`)
	lock, count := upload(m, []uint32{0}), upload(m, []uint32{0})
	if err := m.launchWith("k", grid(6, 64), lock, count); err != nil {
		t.Fatal(err)
	}
	if n := download[uint32](m, count, 1)[0]; n != 6*64 {
		t.Errorf("%d threads had the lock, want %d", n, 6*64)
	}
}

func TestSpinLockWithTheReleaseBehindTheLoop(t *testing.T) {
	// The loop has the usual form: done = false; while (!done) if (cas) {...; release; done =
	// true;}
	m := load(t, `.visible .entry k(.param .u64 lock, .param .u64 count)
{
	.reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<3>;
	ld.param.u64 %rd1, [lock];
	ld.param.u64 %rd2, [count];
	bra.uni TRY;
BACK:
	bra.uni TRY;
TRY:
	atom.global.cas.b32 %r1, [%rd1], 0, 1;
	setp.ne.u32 %p, %r1, 0;
	@%p bra BACK;
	ld.global.u32 %r2, [%rd2];
	add.u32 %r2, %r2, 1;
	st.global.u32 [%rd2], %r2;
	membar.gl;
	atom.global.exch.b32 %r3, [%rd1], 0;
	ret;
}`)
	lock, count := upload(m, []uint32{0}), upload(m, []uint32{0})
	m.mustLaunch("k", 128, lock, count)
	if n := download[uint32](m, count, 1)[0]; n != 128 {
		t.Errorf("%d threads had the lock, want 128", n)
	}
}

func TestProducerAndConsumerWarps(t *testing.T) {
	// Warp 1 polls shared memory in a loop until warp 0 writes to it.
	got := runThreads(t, 64, `
	.shared .u32 flag;
	.shared .u32 value;
	setp.eq.u32 %p0, %r0, 0;
	@%p0 st.volatile.shared.u32 [flag], 0;
	bar.sync 0;
	setp.lt.u32 %p1, %r0, 32;
	@%p1 bra PRODUCE;
WAIT:
	ld.volatile.shared.u32 %r1, [flag];
	setp.eq.u32 %p2, %r1, 0;
	@%p2 bra WAIT;
	ld.shared.u32 %d, [value];
	bra JOIN;
PRODUCE:
	mov.u32 %r2, 0;
COUNT:
	add.u32 %r2, %r2, 1;
	setp.lt.u32 %p3, %r2, 1000;
	@%p3 bra COUNT;
	mov.u32 %d, 1;
	st.shared.u32 [value], %r2;
	membar.cta;
	st.volatile.shared.u32 [flag], 1;
JOIN:`)
	for i, v := range got {
		want := uint32(1)
		if i >= 32 {
			want = 1000
		}
		if v != want {
			t.Errorf("thread %d: %d, want %d", i, v, want)
		}
	}
}

func TestABlockMayWaitForALaterOne(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 flag, .param .u64 out)
{
	.reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [flag];
	ld.param.u64 %rd2, [out];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %nctaid.x;
	sub.u32 %r2, %r2, 1;
	setp.eq.u32 %p, %r1, %r2;
	@%p st.release.gpu.global.u32 [%rd1], 1;
WAIT:
	ld.acquire.gpu.global.u32 %r3, [%rd1];
	setp.eq.u32 %p, %r3, 0;
	@%p bra WAIT;
	red.global.add.u32 [%rd2], 1;
	ret;
}`)
	for _, workers := range []int{1, 2} {
		flag, out := upload(m, []uint32{0}), upload(m, []uint32{0})
		o := grid(20, 32)
		o.Workers = workers
		if err := m.launchWith("k", o, flag, out); err != nil {
			t.Fatal(err)
		}
		if n := download[uint32](m, out, 1)[0]; n != 20*32 {
			t.Errorf("%d threads came through, want %d", n, 20*32)
		}
	}
}

func TestGridBarrierOfACooperativeLaunch(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 count, .param .u64 out)
{
	.reg .pred %p, %q; .reg .b32 %r<8>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [count];
	ld.param.u64 %rd2, [out];
	mov.u32 %r1, %tid.x;
	setp.eq.u32 %q, %r1, 0;
	mov.u32 %r2, %nctaid.x;
	bar.sync 0;
	@!%q bra JOIN;
	membar.gl;
	atom.global.add.u32 %r3, [%rd1], 1;
SPIN:
	ld.volatile.global.u32 %r4, [%rd1];
	setp.lt.u32 %p, %r4, %r2;
	@%p bra SPIN;
JOIN:
	bar.sync 0;
	ld.global.u32 %r5, [%rd1];
	mov.u32 %r6, %ctaid.x;
	mul.wide.u32 %rd3, %r6, 4;
	add.u64 %rd2, %rd2, %rd3;
	st.global.u32 [%rd2], %r5;
	ret;
}`)
	const blocks = 300
	count, out := upload(m, []uint32{0}), upload(m, make([]uint32, blocks))
	o := grid(blocks, 64)
	o.Cooperative = true
	if err := m.launchWith("k", o, count, out); err != nil {
		t.Fatal(err)
	}
	for i, v := range download[uint32](m, out, blocks) {
		if v != blocks {
			t.Fatalf("block %d saw %d arrivals, want %d", i, v, blocks)
		}
	}
}

func TestBarrierAfterDivergence(t *testing.T) {
	// The two sides of a branch wait at the same barrier in different instructions.
	got := runThreads(t, 96, `
	.shared .u32 sum[96];
	mov.u32 %r1, sum;
	mad.lo.u32 %r2, %r0, 4, %r1;
	and.b32 %r3, %r0, 1;
	setp.eq.u32 %p0, %r3, 0;
	@%p0 bra EVEN;
	st.shared.u32 [%r2], 5;
	barrier.sync 0;
	bra JOIN;
EVEN:
	st.shared.u32 [%r2], %r0;
	barrier.sync 0;
JOIN:
	xor.b32 %r4, %r0, 1;
	mad.lo.u32 %r4, %r4, 4, %r1;
	ld.shared.u32 %d, [%r4];`)
	for i, v := range got {
		want := uint32(5)
		if i%2 == 1 {
			want = uint32(i - 1)
		}
		if v != want {
			t.Errorf("thread %d: %d, want %d", i, v, want)
		}
	}
}

func TestBarrierReductions(t *testing.T) {
	got := runThreads(t, 80, `
	setp.lt.u32 %p0, %r0, 50;
	barrier.red.popc.sync.u32 %r1, 0, %p0;
	bar.red.and.pred %p1, 1, %p0;
	bar.red.or.pred %p2, 1, !%p0;
	bar.red.popc.u32 %r2, 0, !%p0;
	selp.u32 %r3, 1, 0, %p1;
	selp.u32 %r4, 1, 0, %p2;
	mad.lo.u32 %d, %r1, 10, %r3;
	mad.lo.u32 %d, %d, 10, %r4;
	mad.lo.u32 %d, %d, 100, %r2;`)
	for i, v := range got {
		if v != 50_01_30 {
			t.Errorf("thread %d: %d", i, v)
		}
	}
}

func TestNamedBarriersWithCounts(t *testing.T) {
	// Warps 0 and 1 arrive at the barrier without waiting. Warps 2 and 3 wait for warps 0 and 1,
	// and later for each other.
	got := runThreads(t, 128, `
	.shared .u32 v;
	setp.lt.u32 %p0, %r0, 64;
	@!%p0 bra CONSUMER;
	setp.eq.u32 %p1, %r0, 0;
	@%p1 st.shared.u32 [v], 77;
	bar.arrive 1, 128;
	mov.u32 %d, 1;
	bra END;
CONSUMER:
	bar.sync 1, 128;
	ld.shared.u32 %d, [v];
	bar.sync 2, 64;
END:`)
	for i, v := range got {
		want := uint32(1)
		if i >= 64 {
			want = 77
		}
		if v != want {
			t.Errorf("thread %d: %d, want %d", i, v, want)
		}
	}
}

func TestBranchTables(t *testing.T) {
	got := runThreads(t, 32, `
	and.b32 %r1, %r0, 3;
	mov.u32 %d, 0;
ts: .branchtargets A, B, C, A;
	brx.idx %r1, ts;
A:	add.u32 %d, %d, 1;
	bra END;
B:	add.u32 %d, %d, 2;
C:	add.u32 %d, %d, 4;
END:
	activemask.b32 %r2;
	popc.b32 %r2, %r2;
	mad.lo.u32 %d, %r2, 10, %d;`)
	for i, v := range got {
		if want := []uint32{321, 326, 324, 321}[i%4]; v != want {
			t.Errorf("thread %d: %d, want %d", i, v, want)
		}
	}
	for _, index := range []string{"2", "-1"} {
		m := load(t, threadOut(`
	mov.u32 %r1, `+index+`;
ts: .branchtargets A, B;
	brx.idx %r1, ts;
A:
B:`))
		f := faultOf(t, m.launch("k", 32, upload(m, make([]uint32, 32))))
		if f.Kind != vm.FaultInvalidPC || !strings.Contains(f.Detail, "outside its table") {
			t.Errorf("index %s of two labels: fault is %v", index, f)
		}
	}
}

// A register that is read after a backward jump must keep its value up to the jump, although no
// later instruction in the text reads it.
func TestRegistersKeepTheirValuesAcrossBackwardJumps(t *testing.T) {
	for _, c := range []struct {
		body string
		want uint32
	}{
		{`
	mov.u32 %d, 0; mov.u32 %r1, 1; mov.u32 %r5, 0;
HEAD:
	add.u32 %d, %d, %r1;
	add.u32 %r5, %r5, 1;
	bra LAST;
LAST: // sets %r1 for the next round
	mov.u32 %r1, %r5;
	mov.u32 %r2, 100;
	mul.lo.u32 %r3, %r2, %r5;
	add.u32 %d, %d, %r3;
	setp.lt.u32 %p0, %r5, 4;
	@%p0 bra HEAD;`, 1 + 1 + 2 + 3 + 100*(1+2+3+4)},
		{`
	bra FIRST;
THEN:
	mov.u32 %r2, 100;
	mul.lo.u32 %r3, %r2, %r2;
	add.u32 %d, %r3, %r1;
	bra END;
FIRST: // sets %r1 for code that stands before it
	mov.u32 %r1, 7;
	bra THEN;
END:`, 100*100 + 7},
	} {
		if got := runThreads(t, 1, c.body)[0]; got != c.want {
			t.Errorf("%s\nreturns %d, want %d", c.body, got, c.want)
		}
	}
}

func TestIrreducibleFlow(t *testing.T) {
	// The loop has two entries.
	got := runThreads(t, 32, `
	mov.u32 %d, 0;
	mov.u32 %r1, 0;
	and.b32 %r2, %r0, 1;
	setp.eq.u32 %p0, %r2, 0;
	@%p0 bra MIDDLE;
TOP:
	add.u32 %d, %d, 1;
MIDDLE:
	add.u32 %d, %d, 10;
	add.u32 %r1, %r1, 1;
	setp.lt.u32 %p1, %r1, 3;
	@%p1 bra TOP;`)
	for i, v := range got {
		want := uint32(32)
		if i%2 == 1 {
			want = 33
		}
		if v != want {
			t.Errorf("thread %d: %d, want %d", i, v, want)
		}
	}
}

func TestLabelsAndRegistersOfInnerScopes(t *testing.T) {
	got := runThreads(t, 32, `
	mov.u32 %d, 0;
	{ .reg .b32 %x; mov.u32 %x, 1;
	L: add.u32 %d, %d, %x; setp.lt.u32 %p0, %d, 5; @%p0 bra L; }
	{ .reg .b32 %x; mov.u32 %x, 100;
	L: add.u32 %d, %d, %x; setp.lt.u32 %p0, %d, 300; @%p0 bra L; }`)
	if got[3] != 305 {
		t.Errorf("%d, want 305", got[3])
	}
}

func TestDeadlockIsAFault(t *testing.T) {
	m := load(t, threadOut(`
	setp.lt.u32 %p0, %r0, 32;
	@%p0 bra OTHER;
	bar.sync 1;
	bra END;
OTHER:
	bar.sync 2;
END:
	mov.u32 %d, 0;`))
	f := faultOf(t, m.launch("k", 64, upload(m, make([]uint32, 64))))
	if f.Kind != vm.FaultDeadlock || !strings.Contains(f.Instr, "bar.sync") {
		t.Errorf("fault is %v", f)
	}
}

func TestEndlessKernelIsAborted(t *testing.T) {
	for _, loop := range []string{"L: bra L;", "L: bar.sync 0; bra L;", "L: nanosleep.u32 10; bra L;"} {
		m := load(t, `.visible .entry k() { `+loop+` }`)
		k, _ := m.mod.Kernel("k")
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		o := grid(4, 64)
		var f *vm.Fault
		if err := k.Launch(ctx, &o); !errors.As(err, &f) || f.Kind != vm.FaultAborted {
			t.Errorf("%s: launch ended with %v", loop, err)
		}
		cancel()
	}
}

func TestTrapAndBadLaunches(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u32 n) .maxntid 64, 1, 1 { .reg .pred %p; .reg .b32 %r<3>;
	mov.u32 %r1, %tid.x; setp.eq.u32 %p, %r1, 37;
	@%p trap;
	ret; }
.visible .entry r() .reqntid 32, 2, 1 { ret; }`)
	f := faultOf(t, m.launch("k", 64, uint32(0)))
	if f.Kind != vm.FaultTrap || f.Thread != (vm.Dim3{X: 37}) || f.Line != 6 || f.Instr != "@%p trap;" {
		t.Errorf("fault is %+v", f)
	}
	for name, c := range map[string]struct {
		kernel string
		o      vm.LaunchOptions
		args   []any
		code   uint32
	}{
		"zero grid":       {"k", grid(0, 32), []any{uint32(1)}, 1},
		"zero block":      {"k", grid(1, 0), []any{uint32(1)}, 1},
		"block too large": {"k", grid(1, 2048), []any{uint32(1)}, 1},
		"above maxntid":   {"k", grid(1, 128), []any{uint32(1)}, 701},
		"not reqntid":     {"r", grid(1, 64), nil, 1},
		"no parameters":   {"k", grid(1, 32), nil, 1},
	} {
		var e *vm.LaunchError
		if err := m.launchWith(c.kernel, c.o, c.args...); !errors.As(err, &e) || e.Result != c.code {
			t.Errorf("%s: %v, want code %d", name, err, c.code)
		}
	}
}

func TestSeedsChangeOnlyTheOrder(t *testing.T) {
	m := load(t, vectorAdd)
	a, b := random32(1000, 1), random32(1000, 2)
	pa, pb := upload(m, a), upload(m, b)
	for seed := range uint64(4) {
		pc := upload(m, make([]float32, 1000))
		o := grid(8, 128)
		o.Seed = seed
		if err := m.launchWith("vadd", o, pa, pb, pc, uint32(1000)); err != nil {
			t.Fatal(err)
		}
		for i, c := range download[float32](m, pc, 1000) {
			if c != a[i]+b[i] {
				t.Fatalf("seed %d: c[%d] = %v", seed, i, c)
			}
		}
	}
}

// Barriers must stop waiting for threads that exit while others wait. A barrier must open if the
// last missing thread exits, with and without a thread count.
func TestBarriersOpenWhenOthersExitLate(t *testing.T) {
	for name, wait := range map[string]string{
		"all threads":      "bar.sync 0;",
		"a reduction":      "bar.red.popc.u32 %r5, 0, %p0;",
		"named":            "barrier.sync 3;",
		"whole warps of 2": "bar.sync 4, 64;",
	} {
		body := `
	setp.ge.u32 %p0, %r0, 64;
	@%p0 bra LATE;
	setp.eq.u32 %p1, %r0, 3;
	@%p1 bra LATE;
	` + wait + `
	mov.u32 %d, 7;
	bra END;
LATE:	mov.u32 %r1, 0;
L:	add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 3000; @%p2 bra L;
	exit;
END:`
		for _, workers := range []int{1, 2} {
			m := load(t, threadOut(body))
			out := upload(m, make([]uint32, 96))
			o := grid(1, 96)
			o.Workers = workers
			if err := m.launchWith("k", o, out); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i, v := range download[uint32](m, out, 96) {
				want := uint32(7)
				if i == 3 || i >= 64 {
					want = 0
				}
				if v != want {
					t.Fatalf("%s: thread %d leaves %d, want %d", name, i, v, want)
				}
			}
		}
	}
}
