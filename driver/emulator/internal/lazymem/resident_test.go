//go:build linux && !race

package lazymem_test

import (
	"bytes"
	"syscall"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// resident returns how many bytes of a large region are resident in memory.
func resident(t *testing.T, b []byte) int {
	t.Helper()
	page := syscall.Getpagesize()
	start := uintptr(unsafe.Pointer(&b[0]))
	if start%uintptr(page) != 0 {
		t.Fatalf("the region begins at %#x", start)
	}
	pages := make([]byte, (len(b)+page-1)/page)
	if _, _, e := syscall.Syscall(syscall.SYS_MINCORE, start, uintptr(len(b)), uintptr(unsafe.Pointer(&pages[0]))); e != 0 {
		t.Fatal(e)
	}
	n := 0
	for _, p := range pages {
		n += int(p&1) * page
	}
	return n
}

// A large allocation must take up memory only where it is accessed. It must start zeroed, even if
// it reuses the mapping of an earlier allocation.
func TestLargeAllocationsPayForWhatIsTouched(t *testing.T) {
	const size, touched = 256 << 20, 8 << 20
	mem := vm.NewMemory()
	for round := range 3 {
		addr, err := mem.Alloc(size, vm.AllocOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, _ := mem.Find(addr)
		b := r.Bytes()
		if n := resident(t, b); n != 0 {
			t.Errorf("round %d: a fresh allocation has %d bytes", round, n)
		}
		for _, at := range []int{0, size / 3, size - 1} {
			if b[at] != 0 {
				t.Errorf("round %d: byte %d is %d", round, at, b[at])
			}
			b[at] = 0xa5
		}
		if n := resident(t, b); n == 0 || n > touched {
			t.Errorf("round %d: three bytes were written and %d are there", round, n)
		}
		if _, err := mem.Free(addr, "test"); err != nil {
			t.Fatal(err)
		}
		if n := resident(t, b); n != 0 { // the mapping still exists, so it can be read
			t.Errorf("round %d: a freed allocation has %d bytes", round, n)
		}
	}
}

// A kernel that has not yet noticed a free may still access the memory without crashing the
// process. Only the next allocation of the same size may see what the kernel wrote.
func TestFreedLargeMemoryStaysMapped(t *testing.T) {
	mem := vm.NewMemory()
	alloc := func(size uint64) ([]byte, uint64) {
		addr, err := mem.Alloc(size, vm.AllocOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, _ := mem.Find(addr)
		return r.Bytes(), addr
	}
	stale, addr := alloc(4 << 20)
	other, _ := alloc(5 << 20)
	if _, err := mem.Free(addr, "test"); err != nil {
		t.Fatal(err)
	}
	for i := range stale {
		stale[i] = 1
	}
	if !bytes.Equal(other, make([]byte, len(other))) {
		t.Error("a write to freed memory reaches another allocation")
	}
}
