package vm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// probe returns a kernel with 64-bit addresses p and q. In body, %t holds the thread's index in the
// block, %b the block's index, and %i the thread's index in the grid.
func probe(body string) string {
	return `.visible .entry k(.param .u64 p, .param .u64 q)
{
	.reg .pred %p<4>; .reg .b32 %r<16>, %t, %b, %i; .reg .b64 %rd<16>, %p0, %q0; .reg .b16 %h<4>;
	ld.param.u64 %p0, [p];
	ld.param.u64 %q0, [q];
	mov.u32 %t, %tid.x;
	mov.u32 %b, %ctaid.x;
	mov.u32 %r0, %ntid.x;
	mad.lo.u32 %i, %b, %r0, %t;
	mul.wide.u32 %rd0, %i, 4;
	add.u64 %rd1, %p0, %rd0;
` + body + `
	ret;
}`
}

type checker struct {
	*machine
	checks vm.Checks
	found  []*vm.Fault
	p, q   uint64
}

func newChecker(t *testing.T, checks vm.Checks, body string) *checker {
	t.Helper()
	m := load(t, probe(body))
	m.mem.Track(checks)
	c := &checker{machine: m, checks: checks}
	for _, a := range []*uint64{&c.p, &c.q} {
		addr, err := m.mem.Alloc(4096, vm.AllocOptions{Tag: "test buffer"})
		if err != nil {
			t.Fatal(err)
		}
		*a = addr
	}
	return c
}

func (c *checker) run(blocks, threads int, change func(*vm.LaunchOptions)) []*vm.Fault {
	c.t.Helper()
	o := grid(blocks, threads)
	o.Checks = c.checks
	c.found = nil
	o.Report = func(f *vm.Fault) { c.found = append(c.found, f) }
	if change != nil {
		change(&o)
	}
	if err := c.launchWith("k", o, c.p, c.q); err != nil {
		c.t.Fatal(err)
	}
	return c.found
}

func globalFindings(t *testing.T, blocks, threads int, body string) []*vm.Fault {
	t.Helper()
	return newChecker(t, vm.CheckGlobalRaces, body).run(blocks, threads, nil)
}

// globalRaceTests lists kernel bodies that access global memory, with the number of instruction
// pairs that race.
var globalRaceTests = []struct {
	name            string
	blocks, threads int
	body            string
	races           int
}{
	{"own elements", 4, 64, `st.global.u32 [%rd1], %i; ld.global.u32 %r1, [%rd1];`, 0},
	{"own bytes", 4, 64, `cvt.u64.u32 %rd2, %i; add.u64 %rd2, %rd2, %p0; st.global.u8 [%rd2], %i;`, 0},
	{"bytes and the word around them", 2, 32, `cvt.u64.u32 %rd2, %i; add.u64 %rd2, %rd2, %p0; st.global.u8 [%rd2], %i; ld.global.u32 %r1, [%p0];`, 1},
	{"one word written by two blocks", 2, 1, `st.global.u32 [%p0], %i;`, 1},
	{"one word written alike", 8, 64, `mov.u32 %r1, 7; st.global.u32 [%p0], %r1;`, 0},
	{"one word written by two warps", 1, 64, `st.global.u32 [%p0], %i;`, 1},
	{"the neighbour's element", 1, 64, `st.global.u32 [%rd1], %i;` + "\n" + `xor.b32 %r2, %i, 32; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %p0; ld.global.u32 %r1, [%rd2];`, 2},
	{"the neighbour's element after a barrier", 1, 64, `st.global.u32 [%rd1], %i; bar.sync 0; xor.b32 %r2, %i, 32; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %p0; ld.global.u32 %r1, [%rd2];`, 0},
	{"another block's element", 2, 32, `st.global.u32 [%rd1], %i; bar.sync 0;` + "\n" + `xor.b32 %r2, %i, 32; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %p0; ld.global.u32 %r1, [%rd2];`, 2},
	{"reads of two blocks before a write", 3, 1, `setp.eq.u32 %p1, %b, 2; @!%p1 ld.global.u32 %r1, [%p0];` + "\n" + `@%p1 st.global.u32 [%p0], %i;`, 1},
	{"atomics", 8, 64, `atom.global.add.u32 %r1, [%p0], 1; red.global.add.u32 [%p0+4], 1;`, 0},
	{"an atomic and a plain read", 2, 1, `setp.eq.u32 %p1, %b, 0; @%p1 red.global.add.u32 [%p0], 1;` + "\n" + `@!%p1 ld.global.u32 %r1, [%p0];`, 1},
	{"the last block reads after fence and counter", 4, 1, lastBlock("membar.gl;", "atom.global.add.u32 %r1, [%q0], 1;"), 0},
	{"the same with the counter's own release", 4, 1, lastBlock("", "atom.add.release.gpu.global.u32 %r1, [%q0], 1;"), 0},
	{"the same with a fence of the block only", 4, 1, lastBlock("membar.cta;", "atom.global.add.u32 %r1, [%q0], 1;"), 1},
	{"the same without a fence", 4, 1, lastBlock("", "atom.global.add.u32 %r1, [%q0], 1;"), 1},
	{"a flag that is passed on", 3, 1, chain, 0},
}

// lastBlock returns a kernel body in which each block writes its element and increments a counter.
// The last block reads all elements.
func lastBlock(fence, count string) string {
	return "st.global.u32 [%rd1], %i;\n" + fence + "\n" + count + `
	setp.ne.u32 %p1, %r1, 3;
	@%p1 ret;
	ld.global.u32 %r2, [%p0];
	ld.global.v2.u32 {%r2, %r3}, [%p0];`
}

// chain is a kernel body in which block b waits for the flag of block b-1. It then reads the value
// that the previous blocks have incremented, increments it, and sets its own flag.
const chain = `
WAIT:
	ld.volatile.global.u32 %r1, [%q0];
	setp.ne.u32 %p1, %r1, %b;
	@%p1 bra WAIT;
	ld.global.u32 %r2, [%p0];
	add.u32 %r2, %r2, 1;
	st.global.u32 [%p0], %r2;
	membar.gl;
	add.u32 %r1, %b, 1;
	st.volatile.global.u32 [%q0], %r1;`

func TestRacesInGlobalMemoryAreFound(t *testing.T) {
	for _, c := range globalRaceTests {
		t.Run(c.name, func(t *testing.T) {
			found := globalFindings(t, c.blocks, c.threads, c.body)
			pairs := map[string]bool{}
			for _, f := range found {
				if f.Kind != vm.FaultRace || f.Space != "global" || !strings.Contains(f.Detail, "unordered with the ") || !strings.Contains(f.Detail, "test buffer") {
					t.Errorf("a finding that is not a race in global memory: %v", f)
				}
				pairs[fmt.Sprint(f.Line, f.Instr)] = true
			}
			if (len(pairs) == 0) != (c.races == 0) || len(found) < c.races {
				t.Errorf("found %d races, want %d: %v", len(found), c.races, found)
			}
		})
	}
}

// order is a vm.Order. at is the number of the launch or copy, and before contains each ordered
// pair of numbers.
type order struct {
	at     int
	before map[[2]int]bool
}

func (o order) Made() *vm.Trace { return nil }

func (o order) After(e vm.Order) bool { return o.before[[2]int{e.(order).at, o.at}] }

func TestRacesBetweenLaunchesFollowTheirOrder(t *testing.T) {
	c := newChecker(t, vm.CheckGlobalRaces, "ld.global.u32 %r1, [%rd1];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;")
	before := map[[2]int]bool{{0, 1}: true, {1, 2}: true}
	run := func(i int) []*vm.Fault {
		return c.run(1, 32, func(o *vm.LaunchOptions) { o.Order = order{i, before} })
	}
	if f := append(run(0), run(1)...); len(f) != 0 {
		t.Errorf("ordered launches: %v", f)
	}
	if f := run(3); len(f) != 2 || !strings.Contains(f[0].Detail, "of an earlier launch of kernel k") {
		t.Errorf("unordered launches: %v", f)
	}
	if s := c.mem.Touch(c.p, 8, false, order{4, before}, "a copy"); !strings.Contains(s, "a copy is unordered with the write of block (0,0,0) thread (0,0,0)") {
		t.Errorf("unordered copy: %q", s)
	}
	if s := c.mem.Touch(c.q, 8, false, order{4, before}, "a copy"); s != "" {
		t.Errorf("copy of something else: %q", s)
	}
}

func TestReadsOfUnwrittenGlobalMemoryAreFound(t *testing.T) {
	c := newChecker(t, vm.CheckUninitialized, `ld.global.u32 %r1, [%rd1]; st.global.u32 [%q0], %r1; ld.global.u32 %r2, [%q0];`)
	f := c.run(1, 8, nil)
	if len(f) != 1 || f[0].Kind != vm.FaultUninitialized || f[0].Addr != c.p || !strings.Contains(f[0].Detail, "was never written") {
		t.Fatalf("nothing written: %v", f)
	}
	c.mem.Written(c.p, 28)
	if f := c.run(1, 8, nil); len(f) != 1 || f[0].Thread.X != 7 {
		t.Errorf("all but the last written: %v", f)
	}
	c.mem.WrittenFrom(c.p+16, c.p, 16)
	if f := c.run(1, 8, nil); len(f) != 0 {
		t.Errorf("all written: %v", f)
	}
	c.mem.WrittenFrom(c.p+4, c.q+64, 4)
	if f := c.run(1, 8, nil); len(f) != 1 || f[0].Thread.X != 1 {
		t.Errorf("one copied from unwritten memory: %v", f)
	}
}

func TestReadsOfUnwrittenLocalMemoryAreFound(t *testing.T) {
	for _, c := range []struct {
		name, body string
		found      int
	}{
		{"written", `.local .align 8 .b8 v[16]; st.local.u32 [v], %t; ld.local.u32 %r1, [v];`, 0},
		{"not written", `.local .align 8 .b8 v[16]; st.local.u32 [v], %t; ld.local.u32 %r1, [v+4];`, 1},
		{"half written", `.local .align 8 .b8 v[16]; st.local.u32 [v], %t; ld.local.v2.u32 {%r1, %r2}, [v];`, 1},
		{"by a generic address", `.local .align 8 .b8 v[16]; mov.u64 %rd2, v; cvta.local.u64 %rd2, %rd2; st.u32 [%rd2], %t; ld.u32 %r1, [%rd2]; ld.u32 %r1, [%rd2+8];`, 1},
	} {
		f := newChecker(t, vm.CheckUninitialized, c.body).run(1, 8, nil)
		if len(f) != c.found || c.found > 0 && (f[0].Space != "local" || f[0].Kind != vm.FaultUninitialized) {
			t.Errorf("%s: %v", c.name, f)
		}
	}
}

// callee is PTX that calls a function twice. The first call writes the function's local variable.
// The second call writes it only if FIRST is 1.
const callee = `
.func (.param .b32 r) half(.param .b32 a)
{
	.local .align 4 .b8 v[8];
	.reg .b32 %r<4>; .reg .pred %p;
	ld.param.u32 %r1, [a];
	setp.eq.u32 %p, %r1, 1;
	@%p st.local.u32 [v], %r1;
	ld.local.u32 %r2, [v];
	add.u32 %r2, %r2, %r1;
	st.param.b32 [r], %r2;
	ret;
}
.visible .entry k(.param .u64 p, .param .u64 q)
{
	.reg .b32 %r<8>; .reg .b64 %rd<4>;
	mov.u32 %r0, 1;
	call (%r1), half, (%r0);
	call (%r2), half, (FIRST);
	ld.param.u64 %rd1, [p];
	st.global.u32 [%rd1], %r2;
	ret;
}`

func TestAFunctionsFrameIsUnwrittenAtEachCall(t *testing.T) {
	for arg, want := range map[string]int{"1": 0, "0": 1} {
		m := load(t, strings.Replace(callee, "FIRST", arg, 1))
		c := &checker{machine: m, checks: vm.CheckUninitialized, p: upload(m, []uint32{0})}
		if f := c.run(1, 1, nil); len(f) != want {
			t.Errorf("argument %s: %v", arg, f)
		}
	}
}

func BenchmarkSaxpyWithChecks(b *testing.B) {
	const n = 1 << 14
	m := load(b, saxpy)
	o := grid(16, 256)
	o.Workers, o.Checks = 1, vm.CheckBarriers|vm.CheckSharedRaces|vm.CheckUninitialized|vm.CheckGlobalRaces
	measure(b, m, "saxpy", o, upload(m, make([]float32, n)), upload(m, make([]float32, n)), float32(2), uint32(n))
}

func findings(t *testing.T, checks vm.Checks, n int, body string) []*vm.Fault {
	t.Helper()
	m := load(t, threadOut(body))
	var found []*vm.Fault
	o := grid(1, n)
	o.Checks = checks
	o.Report = func(f *vm.Fault) { found = append(found, f) }
	if err := m.launchWith("k", o, upload(m, make([]uint32, n))); err != nil {
		t.Fatal(err)
	}
	return found
}

const neighbour = `
	.shared .u32 v[64];
	mov.u32 %r1, v;
	mad.lo.u32 %r2, %r0, 4, %r1;
	st.shared.u32 [%r2], %r0;
	BARRIER
	xor.b32 %r3, %r0, PARTNER;
	mad.lo.u32 %r3, %r3, 4, %r1;
	ld.shared.u32 %d, [%r3];`

func exchange(barrier, partner string) string {
	return strings.NewReplacer("BARRIER", barrier, "PARTNER", partner).Replace(neighbour)
}

func TestSharedRacesAreFound(t *testing.T) {
	f := findings(t, vm.CheckSharedRaces, 64, exchange("", "32"))
	if len(f) != 2 || f[0].Kind != vm.FaultRace || !strings.Contains(f[0].Detail, " of thread ") || f[0].Space != "shared" {
		t.Fatalf("without a barrier: %v", f)
	}
	if f := findings(t, vm.CheckSharedRaces, 64, exchange("bar.sync 0;", "32")); len(f) != 0 {
		t.Errorf("with a barrier: %v", f)
	}
	if f := findings(t, vm.CheckSharedRaces, 64, exchange("bar.warp.sync -1;", "32")); len(f) != 2 {
		t.Errorf("across warps with a barrier of the warp: %v", f)
	}
	if f := findings(t, vm.CheckSharedRaces, 64, exchange("bar.warp.sync -1;", "1")); len(f) != 0 {
		t.Errorf("in a warp with its barrier: %v", f)
	}
	if f := findings(t, vm.CheckSharedRaces, 64, exchange("", "1")); len(f) != 1 {
		t.Errorf("in a warp without a barrier: %v", f)
	}
}

func TestWritesOfTheSameValueAreNoRace(t *testing.T) {
	const body = `
	.shared .u32 flag;
	mov.u32 %d, VALUE;
	st.shared.u32 [flag], %d;`
	if f := findings(t, vm.CheckSharedRaces, 32, strings.Replace(body, "VALUE", "1", 1)); len(f) != 0 {
		t.Errorf("same value: %v", f)
	}
	for _, threads := range []int{32, 64} {
		if f := findings(t, vm.CheckSharedRaces, threads, strings.Replace(body, "VALUE", "%r0", 1)); len(f) != 1 {
			t.Errorf("different values of %d threads: %v", threads, f)
		}
	}
	// For conflicting stores of a byte, the check must compare only the byte.
	for shift, want := range map[string]int{"8": 0, "7": 1} {
		f := findings(t, vm.CheckSharedRaces, 32, `
	.shared .u8 flag;
	shl.b32 %d, %r0, `+shift+`;
	st.shared.u8 [flag], %d;`)
		if len(f) != want {
			t.Errorf("bytes of values shifted by %s bits: %v, want %d findings", shift, f, want)
		}
	}
}

func TestAtomicsAreNoRace(t *testing.T) {
	f := findings(t, vm.CheckSharedRaces|vm.CheckUninitialized, 64, `
	.shared .u32 n;
	setp.eq.u32 %p0, %r0, 0;
	@%p0 st.shared.u32 [n], 0;
	bar.sync 0;
	atom.shared.add.u32 %d, [n], 1;`)
	if len(f) != 0 {
		t.Errorf("found %v", f)
	}
}

func TestUninitialisedSharedMemoryIsFound(t *testing.T) {
	f := findings(t, vm.CheckUninitialized, 32, `
	.shared .align 8 .u32 v[64];
	mov.u64 %rd1, v;
	cvta.shared.u64 %rd1, %rd1;
	mul.wide.u32 %rd2, %r0, 8;
	add.u64 %rd1, %rd1, %rd2;
	st.u32 [%rd1], %r0;
	ld.u32 %d, [%rd1];
	ld.v2.u32 {%r1, %r2}, [%rd1];`)
	if len(f) != 1 || f[0].Kind != vm.FaultUninitialized || !strings.HasPrefix(f[0].Instr, "ld.v2.u32") {
		t.Errorf("found %v", f)
	}
}

func TestExitBeforeABarrierIsFound(t *testing.T) {
	f := findings(t, vm.CheckBarriers, 64, `
	mov.u32 %d, 0;
	setp.eq.u32 %p0, %r0, 40;
	@%p0 exit;
	bar.sync 0;`)
	if len(f) == 0 || f[0].Kind != vm.FaultBarrier {
		t.Errorf("found %v", f)
	}
}

func TestAMissingCheckIsRefused(t *testing.T) {
	m := load(t, `.visible .entry k() { ret; }`)
	o := grid(1, 1)
	o.Checks = 1 << 20
	var e *vm.LaunchError
	if err := m.launchWith("k", o); !errors.As(err, &e) || e.Result != 801 || !strings.Contains(e.Error(), "Checks(0x100000)") {
		t.Errorf("launch: %v", err)
	}
}

func TestClusterRegisters(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<8>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %clusterid.x;
	mov.u32 %r3, %cluster_ctarank;
	mov.u32 %r4, %cluster_nctaid.x;
	mov.u32 %r5, %nclusterid.x;
	mad.lo.u32 %r6, %r2, %r4, %r3;
	mad.lo.u32 %r6, %r5, 100, %r6;
	mul.wide.u32 %rd2, %r1, 4;
	add.u64 %rd1, %rd1, %rd2;
	st.global.u32 [%rd1], %r6;
	ret;
}`)
	out := upload(m, make([]uint32, 8))
	o := grid(8, 1)
	o.Cluster = vm.Dim3{X: 4, Y: 1, Z: 1}
	if err := m.launchWith("k", o, out); err != nil {
		t.Fatal(err)
	}
	for i, v := range download[uint32](m, out, 8) {
		if v != uint32(200+i) {
			t.Errorf("block %d: %d, want %d", i, v, 200+i)
		}
	}
}

// One thread reads an address. One or two other threads then read it, and one of them also writes
// it. The check must still report that the first read and the write are unordered.
func TestReadsOfOthersAreRemembered(t *testing.T) {
	for space, base := range map[string]string{
		"shared": ".shared .u32 v[64]; mov.u32 %r1, v; st.shared.u32 [%r1], 1; bar.sync 0;", "global": "sub.u64 %r1, %out, %rd0;",
	} {
		for _, last := range []int{1, 2} { // number of threads that read again
			body := base + fmt.Sprintf(`
	ld.SPACE.u32 %%d, [%%r1];
	setp.lt.u32 %%p2, %%r0, %d; setp.eq.u32 %%p1, %%r0, 0;
	@%%p2 ld.SPACE.u32 %%r3, [%%r1]; @%%p1 ld.SPACE.u32 %%r3, [%%r1];
	@%%p1 st.SPACE.u32 [%%r1], %%r3;`, last)
			body = strings.ReplaceAll(body, "SPACE", space)
			if space == "global" {
				body = strings.ReplaceAll(body, "%r1", "%rd1")
			}
			for _, threads := range []int{2, 32, 64} {
				f := findings(t, vm.CheckSharedRaces|vm.CheckGlobalRaces, threads, body)
				if len(f) == 0 || !strings.Contains(f[0].Detail, "the read of ") {
					t.Errorf("%s, %d threads, %d read again: %v", space, threads, last, f)
				}
			}
		}
	}
}

func TestBarriersNotReachedByAllAreFound(t *testing.T) {
	for _, c := range []struct {
		name, body, detail string
	}{
		{"all come", `bar.sync 0; bar.sync 0;`, ""},
		{"all come by two ways of whole warps", `setp.lt.u32 %p1, %t, 32; @%p1 bra A; bar.sync 0; ret;` + "\nA:\n" + `bar.sync 0;`, ""},
		{"threads that exit first", `setp.lt.u32 %p1, %t, 8; @%p1 ret; bar.sync 0;`, "8 of the block's 64 threads have exited, thread (0,0,0) among them"},
		{"threads that exit last", `setp.eq.u32 %p1, %t, 63; @%p1 ret; bar.sync 0;`, "1 of the block's 64 threads have exited, thread (63,0,0) among them"},
		{"a warp that comes by two ways", `and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 1; @%p1 bra A; bar.sync 0; ret;` + "\nA:\n" + `bar.sync 0;`, "a warp has to reach a barrier as a whole"},
		{"a producer and consumers", `setp.lt.u32 %p1, %t, 32; @%p1 bra A; bar.sync 1, 64; ret;` + "\nA:\n" + `bar.arrive 1, 64;`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newChecker(t, vm.CheckBarriers, c.body).run(2, 64, nil)
			switch {
			case c.detail == "" && len(f) != 0:
				t.Errorf("found %v", f)
			case c.detail != "" && (len(f) == 0 || f[0].Kind != vm.FaultBarrier || !strings.Contains(f[0].Detail, c.detail) || !strings.Contains(f[0].Instr, "bar.sync")):
				t.Errorf("found %v, want %q", f, c.detail)
			}
		})
	}
}

// If the source line is known, a report must begin with it and end with the PTX.
func TestReportsOfFaults(t *testing.T) {
	f := vm.Fault{Kind: vm.FaultUninitialized, Kernel: "hot", File: "ptx input", Line: 65, Instr: "atom.global.add.u64 %rd12, [%rd2], 1;",
		Thread: vm.Dim3{X: 4}, Addr: 0x7000, Size: 8, Space: "global", Write: true, Atomic: true, Detail: "never written"}
	for source, want := range map[string]string{
		"":            "uninitialized read: atomic access of 8 bytes at 0x7000 (global) in kernel hot at ptx input:65, block (0,0,0) thread (4,0,0): atom.global.add.u64 %rd12, [%rd2], 1; never written",
		"heat.go:8:3": "heat.go:8:3: uninitialized read: atomic access of 8 bytes at 0x7000 (global) in kernel hot, block (0,0,0) thread (4,0,0); never written; ptx input:65: atom.global.add.u64 %rd12, [%rd2], 1",
	} {
		f.Source = source
		if got := f.Error(); got != want {
			t.Errorf("the report is\n%s\nwant\n%s", got, want)
		}
	}
}

// copies returns a kernel body in which each thread copies 16 bytes from global to shared memory, a
// second copy follows in a second group if two is set, and then the given code runs. In the code,
// [%r2] is what the thread copied first, and [%r3] what the thread with index t^partner copied.
func copies(two bool, partner int, code string) string {
	second := ""
	if two {
		second = "cp.async.commit_group; cp.async.ca.shared.global [%r2+1024], [%rd2], 16;"
	}
	return fmt.Sprintf(`
	.shared .align 16 .b8 v[2048];
	mov.u32 %%r1, v;
	mad.lo.u32 %%r2, %%t, 16, %%r1;
	xor.b32 %%r3, %%t, %d;
	mad.lo.u32 %%r3, %%r3, 16, %%r1;
	mul.wide.u32 %%rd2, %%t, 16;
	add.u64 %%rd2, %%rd2, %%p0;
	cp.async.ca.shared.global [%%r2], [%%rd2], 16;
	%s
	%s`, partner, second, code)
}

// The bytes of cp.async are written at any time from the copy to the end of the wait, and other
// threads may read them after a barrier that follows the wait. The findings must be the same if the
// emulator performs the copies late.
func TestRacesWithAsyncCopiesAreFound(t *testing.T) {
	const read, readOwn = "ld.shared.u32 %r4, [%r3];", "ld.shared.u32 %r4, [%r2];"
	for _, c := range []struct {
		name string
		body string
		want int
	}{
		{"own bytes before the wait", copies(false, 0, readOwn+"cp.async.wait_all;"), 1},
		{"own bytes before the wait, after a barrier", copies(false, 0, "bar.sync 0;"+readOwn), 1},
		{"own bytes overwritten before the wait", copies(false, 0, "st.shared.u32 [%r2], %t;"), 1},
		{"own bytes after the wait", copies(false, 0, "cp.async.wait_all;"+readOwn), 0},
		{"own bytes after waiting for a group", copies(false, 0, "cp.async.commit_group; cp.async.wait_group 0;"+readOwn), 0},
		{"own bytes that are in no group", copies(false, 0, "cp.async.wait_group 0;"+readOwn), 1},
		{"the first of two groups", copies(true, 0, "cp.async.commit_group; cp.async.wait_group 1;"+readOwn), 0},
		{"the second of two groups", copies(true, 0, "cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r4, [%r2+1024];"), 1},
		{"bytes copied again in a second group", copies(false, 0, "cp.async.commit_group; cp.async.ca.shared.global [%r2], [%rd2], 16;\n"+
			"cp.async.commit_group; cp.async.wait_group 1;"+readOwn), 1},
		{"bytes of the warp, without a barrier", copies(false, 1, "cp.async.wait_all;"+read), 1},
		{"bytes of the warp, with a barrier", copies(false, 1, "cp.async.wait_all; bar.warp.sync -1;"+read), 0},
		{"bytes of the warp, with a barrier before the wait", copies(false, 1, "bar.warp.sync -1; cp.async.wait_all;"+read), 1},
		{"bytes of another warp, with a barrier of the warp", copies(false, 32, "cp.async.wait_all; bar.warp.sync -1;"+read), 2},
		{"bytes of another warp, with a barrier", copies(false, 32, "cp.async.wait_all; bar.sync 0;"+read), 0},
		{"bytes of another warp, with a barrier before the wait", copies(false, 32, "bar.sync 0; cp.async.wait_all;"+read), 1},
		{"bytes read by another thread before", "\n.shared .align 16 .b8 w[1024]; mov.u32 %r1, w; xor.b32 %r3, %t, 1; mad.lo.u32 %r3, %r3, 16, %r1; ld.shared.u32 %r4, [%r3];\n" +
			"mad.lo.u32 %r2, %t, 16, %r1; cp.async.ca.shared.global [%r2], [%p0], 16;", 1},
	} {
		for seed := range uint64(3) {
			k := newChecker(t, vm.CheckSharedRaces, c.body)
			f := k.run(1, 64, func(o *vm.LaunchOptions) { o.Seed = seed })
			if len(f) != c.want {
				t.Errorf("%s, seed %d: %v, want %d findings", c.name, seed, f, c.want)
			}
		}
	}
	f := newChecker(t, vm.CheckSharedRaces, copies(false, 0, readOwn)).run(1, 1, nil)
	if len(f) != 1 || !strings.Contains(f[0].Detail, "cp.async of thread (0,0,0) at line ") || !strings.Contains(f[0].Detail, "wait for the copy") {
		t.Errorf("the report is %v", f)
	}
}
