package vm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// Counters that do not run have the width of their names: the wide ones are operands of 64 bits.
func TestCountersHaveTheirWidth(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<2>; .reg .b64 %rd<3>;
	ld.param.u64 %rd1, [out];
	add.u32 %r1, %pm3, 5; st.global.u32 [%rd1], %r1;
	add.u64 %rd2, %pm3_64, 6; st.global.u64 [%rd1+8], %rd2; ret;
}`)
	out := upload(m, make([]uint64, 2))
	m.mustLaunch("k", 1, out)
	if got := download[uint64](m, out, 2); got[0] != 5 || got[1] != 6 {
		t.Errorf("stored %d", got)
	}
}

// A kernel is charged only for the shared memory of functions that it can reach.
func TestUnreachableFunctionsTakeNoSharedMemory(t *testing.T) {
	m := load(t, `.func other() { .reg .b32 %r<2>; .shared .align 4 .b8 big[4096]; mov.u32 %r1, 1; st.shared.u32 [big], %r1; ret; }
.visible .entry lone() { ret; }
.visible .entry direct() { call other, (); ret; }
.visible .entry indirect() { .reg .b64 %rd<2>; mov.u64 %rd1, other; P: .callprototype _ (); call %rd1, (), P; ret; }`)
	for name, want := range map[string]int{"lone": 0, "direct": 4096, "indirect": 4096} {
		k, ok := m.mod.Kernel(name)
		if !ok {
			t.Fatalf("no kernel %s", name)
		}
		if got := k.Attributes().SharedBytes; got != want {
			t.Errorf("%s takes %d bytes of shared memory, want %d", name, got, want)
		}
	}
}

// mov of a variable's address into a wider register extends it.
func TestAddressesIntoWiderRegisters(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 out)
{
	.reg .b64 %rd<4>; .shared .align 8 .b32 s[8];
	ld.param.u64 %rd1, [out];
	mov.u64 %rd2, -1; mov.u32 %rd2, s+4; mov.u64 %rd3, -1; mov.b32 %rd3, s[2];
	sub.u64 %rd3, %rd3, %rd2; st.global.u64 [%rd1], %rd3; shr.u64 %rd2, %rd2, 32; st.global.u64 [%rd1+8], %rd2; ret;
}`)
	out := upload(m, []uint64{9, 9})
	m.mustLaunch("k", 1, out)
	if got := download[uint64](m, out, 2); got[0] != 4 || got[1] != 0 {
		t.Errorf("the addresses are %d apart, upper half %d", got[0], got[1])
	}
}

// A race with a bulk copy names the copy, not what the thread did before it.
func TestRacesWithBulkCopiesNameThem(t *testing.T) {
	text := probe(`
	.shared .align 16 .b8 s[64];
	setp.ne.u32 %p1, %b, 0; @%p1 bra R;
	st.shared.u32 [s], %t;
	st.global.u32 [%p0+64], %t;
	cp.async.bulk.global.shared::cta.bulk_group [%p0], [s], 16;
	cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
	bra E;
R:	ld.global.u32 %r1, [%p0];
E:`)
	m := load(t, text)
	m.mem.Track(vm.CheckGlobalRaces)
	p, err := m.mem.Alloc(4096, vm.AllocOptions{})
	if err != nil {
		t.Fatal(err)
	}
	copied := lineWith(text, "cp.async.bulk.global")
	o := grid(2, 1)
	o.Checks, o.Workers, o.Params = vm.CheckGlobalRaces, 1, params(p, p)
	var found []string
	o.Report = func(f *vm.Fault) { found = append(found, f.Detail) }
	k, _ := m.mod.Kernel("k")
	if err := k.Launch(context.Background(), &o); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || !strings.Contains(found[0], fmt.Sprintf("at line %d;", copied)) {
		t.Errorf("found %q, the copy is in line %d", found, copied)
	}
}

// lineWith returns the number of the line that contains the words, below the header.
func lineWith(text, words string) int {
	before, _, _ := strings.Cut(header+text, words)
	return 1 + strings.Count(before, "\n")
}

// Before its first instruction, a function fetches the arguments that it receives as registers.
// Errors there are reported at the function's head.
func TestMissingArgumentsAreReportedAtTheFunction(t *testing.T) {
	const text = `.visible .entry k()
{
	.reg .b64 %rd<2>;
	mov.u64 %rd1, store;
P:	.callprototype _ ();
	call %rd1, (), P;
	ret;
}
.func store(.reg .b32 a)
{
	.shared .b32 s;
	st.shared.u32 [s], a;
	ret;
}`
	m := load(t, text)
	o := grid(1, 1)
	o.Checks = vm.CheckUninitialized
	var found []*vm.Fault
	o.Report = func(f *vm.Fault) { found = append(found, f) }
	if err := m.launchWith("k", o); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Line != lineWith(text, ".func store") {
		t.Errorf("found %v, the function is in line %d", found, lineWith(text, ".func store"))
	}
}
