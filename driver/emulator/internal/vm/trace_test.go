package vm_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

func allocateHere(t *testing.T, m *vm.Memory) uint64 {
	t.Helper()
	a, err := m.Alloc(64, vm.AllocOptions{Tag: "cuMemAlloc"})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func freeHere(m *vm.Memory, a uint64) { m.Free(a, "cuMemFree") }

func TestReportsSayWhereMemoryWasAllocatedAndFreed(t *testing.T) {
	m := vm.NewMemory()
	a := allocateHere(t, m)
	const made = "allocated at vm_test.allocateHere (trace_test.go:"
	if s := m.Nearest(a + 65); !strings.Contains(s, made) || !strings.Contains(s, " < vm_test.TestReportsSay") {
		t.Errorf("after the end: %s", s)
	}
	freeHere(m, a)
	if s := m.Nearest(a + 8); !strings.Contains(s, made) || !strings.Contains(s, "freed by cuMemFree at vm_test.freeHere (trace_test.go:") {
		t.Errorf("after it was freed: %s", s)
	}
}

func TestAFaultOfACopiesSourceNamesItsLine(t *testing.T) {
	m := load(t, probe(`
	.shared .align 16 .b8 v[64];
	mov.u32 %r1, v;
	cp.async.ca.shared.global [%r1], [%p0], 4;
	cp.async.ca.shared.global [%r1], [%q0], 4;`))
	p := upload(m, []uint32{1})
	f := faultOf(t, m.launch("k", 1, p, uint64(64)))
	if f.Addr != 64 || !strings.Contains(f.Instr, "[%q0]") {
		t.Errorf("%v", f)
	}
}
