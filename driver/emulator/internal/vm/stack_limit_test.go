package vm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// wantStackFault fails the test unless err is a fault of the stack that says word.
func wantStackFault(t *testing.T, err error, word string) {
	t.Helper()
	var f *vm.Fault
	if !errors.As(err, &f) || f.Kind != vm.FaultStack || !strings.Contains(f.Error(), word) {
		t.Errorf("the kernel ends with %v, want a fault of the stack that says %q", err, word)
	}
}

// Recursion uses stack in all running threads. The total is bounded.
func TestStacksOfAllThreadsAreBounded(t *testing.T) {
	m := load(t, `.func f(.reg .u32 n)
{
	.reg .pred %p;
	.reg .b32 %r;
	.local .align 8 .b8 l[4096];
	st.local.u32 [l], n;
	setp.eq.u32 %p, n, 0;
	@%p ret;
	sub.u32 %r, n, 1;
	call f, (%r);
	ret;
}
.visible .entry k(.param .u32 n)
{
	.reg .b32 %r;
	ld.param.u32 %r, [n];
	call f, (%r);
	ret;
}`)
	o := grid(1, 512)
	o.BlockMemory = 64 << 20
	few, many := uint32(10), uint32(110)
	if err := m.launchWith("k", o, few); err != nil {
		t.Error(err)
	}
	wantStackFault(t, m.launchWith("k", o, many), "the blocks that run take more than 67108864 bytes")
	o.BlockMemory = 0
	if err := m.launchWith("k", o, many); err != nil {
		t.Errorf("without a bound: %v", err)
	}
}

// So is the memory of alloca.
func TestAllocaIsBoundedForAllThreads(t *testing.T) {
	m := load(t, `.visible .entry k()
{
	.reg .b64 %d;
	alloca.u64 %d, 262144;
	ret;
}`)
	o := grid(1, 64)
	o.BlockMemory = 8 << 20
	wantStackFault(t, m.launchWith("k", o), "8388608 bytes")
	o.BlockMemory = 32 << 20
	if err := m.launchWith("k", o); err != nil {
		t.Error(err)
	}
}

// A stack pointer that no stacksave returned would make memory outside of the stack appear to be
// part of it.
func TestStackPointersAreChecked(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 n)
{
	.reg .b64 %d<4>;
	ld.param.u64 %d1, [n];
	alloca.u64 %d2, 64;
	stackrestore.u64 %d1;
	add.u64 %d2, %d2, 60;
	st.local.u64 [%d2], 5;
	ret;
}`)
	for _, n := range []uint64{65, 1 << 40, 1<<64 - 1} {
		o := grid(1, 1)
		wantStackFault(t, m.launchWith("k", o, n), "stackrestore of")
	}
}
