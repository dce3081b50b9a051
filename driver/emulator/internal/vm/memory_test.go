package vm_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

func alloc(t *testing.T, m *vm.Memory, size uint64, o vm.AllocOptions) uint64 {
	t.Helper()
	a, err := m.Alloc(size, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAllocationsAreAlignedApartAndZero(t *testing.T) {
	m := vm.NewMemory()
	var last uint64
	for i := range 100 {
		size := uint64(i*37 + 1)
		a := alloc(t, m, size, vm.AllocOptions{Align: 512})
		if a%512 != 0 || a < last+256 {
			t.Fatalf("allocation %d at %#x after %#x", i, a, last)
		}
		last = a + size
		b, err := m.Bytes(a, size)
		if err != nil || !bytes.Equal(b, make([]byte, size)) {
			t.Fatalf("bytes of allocation %d: %v", i, err)
		}
		if _, err := m.Bytes(a, size+1); !errors.Is(err, vm.ErrOutOfBounds) {
			t.Fatalf("one byte too many: %v", err)
		}
	}
	other := alloc(t, m, 16, vm.AllocOptions{Device: 3})
	if r, ok := m.Find(other + 15); !ok || r.Device != 3 || r.Addr != other {
		t.Errorf("found %+v", r)
	}
	if _, ok := m.Find(other + 16); ok {
		t.Error("found something past the end")
	}
}

func TestFreedAddressesAreRememberedAndNotReused(t *testing.T) {
	m := vm.NewMemory()
	a := alloc(t, m, 64, vm.AllocOptions{Tag: "first"})
	if _, err := m.Free(a+1, "x"); !errors.Is(err, vm.ErrNotMapped) {
		t.Errorf("free inside an allocation: %v", err)
	}
	if _, err := m.Free(a, "the test"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Free(a, "x"); !errors.Is(err, vm.ErrNotMapped) {
		t.Errorf("second free: %v", err)
	}
	if b := alloc(t, m, 64, vm.AllocOptions{}); b == a {
		t.Error("the address is used again at once")
	}
	if s := m.Nearest(a + 8); !strings.Contains(s, "8 bytes into first") || !strings.Contains(s, "freed by the test") {
		t.Errorf("report is %q", s)
	}
}

func TestAddressesAreReusedWhenTheArenaIsFull(t *testing.T) {
	m := vm.NewMemory()
	keep := alloc(t, m, 4096, vm.AllocOptions{})
	for range 20 { // each range has 100 GiB of addresses, but no memory
		a, err := m.Reserve(0, 100<<30, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if a <= keep+4096 && keep < a+100<<30 {
			t.Fatalf("range at %#x overlaps %#x", a, keep)
		}
		if err := m.Unreserve(a); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Reserve(0, 1<<41, 0, 0); !errors.Is(err, vm.ErrOutOfAddress) {
		t.Errorf("a range larger than the arena: %v", err)
	}
}

func TestMappingsOfOneBuffer(t *testing.T) {
	m := vm.NewMemory()
	phys, err := vm.NewBuffer(2 << 20)
	if err != nil {
		t.Fatal(err)
	}
	va, err := m.Reserve(0, 4<<20, 2<<20, 0)
	if err != nil || va%(2<<20) != 0 {
		t.Fatalf("%#x, %v", va, err)
	}
	for i := range uint64(2) {
		if err := m.Map(va+i<<21, phys, vm.AllocOptions{Kind: vm.RegionMapped}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Map(va+100, phys, vm.AllocOptions{}); !errors.Is(err, vm.ErrOverlap) {
		t.Errorf("mapping over a mapping: %v", err)
	}
	// A copy must treat adjacent mappings as one range.
	text := []byte("across the border")
	if err := m.Write(va+2<<20-5, text); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if err := m.Read(got, va+2<<20-5); err != nil || !bytes.Equal(got, text) {
		t.Errorf("read %q, %v", got, err)
	}
	if !bytes.Equal(phys[:12], text[5:]) || !bytes.Equal(phys[2<<20-5:], text[:5]) {
		t.Error("the mappings do not share their memory")
	}
	if err := m.Write(va+4<<20-5, text); !errors.Is(err, vm.ErrOutOfBounds) {
		t.Errorf("write over the end: %v", err)
	}
	if hint, err := m.Reserve(0, 1<<20, 0, va+1<<30); err != nil || hint != va+1<<30 {
		t.Errorf("hint: %#x, %v", hint, err)
	}
	if again, err := m.Reserve(0, 1<<20, 0, va+1<<30); err != nil || again == va+1<<30 {
		t.Errorf("hint that is in use: %#x, %v", again, err)
	}
}

func TestNearestAllocation(t *testing.T) {
	m := vm.NewMemory()
	if s := m.Nearest(5); !strings.Contains(s, "no allocation near 0x5") {
		t.Errorf("empty: %q", s)
	}
	a := alloc(t, m, 100, vm.AllocOptions{Tag: "A"})
	for addr, want := range map[uint64]string{a + 3: "3 bytes into A", a + 108: "8 bytes after the end of A", a - 16: "16 bytes before A"} {
		if s := m.Nearest(addr); !strings.Contains(s, want) {
			t.Errorf("%q does not say %q", s, want)
		}
	}
}

func TestMemoryFromManyGoroutines(t *testing.T) {
	m := vm.NewMemory()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				a, err := m.Alloc(uint64(i+1), vm.AllocOptions{Device: g % 3})
				if err != nil {
					t.Error(err)
					return
				}
				if r, ok := m.Find(a); !ok || r.Size != uint64(i+1) {
					t.Errorf("found %+v", r)
				}
				if _, err := m.Free(a, "test"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(m.All()); n != 0 {
		t.Errorf("%d regions are left", n)
	}
}

func TestCopiesEndAtMemoryFreedDuringTheCopy(t *testing.T) {
	m := vm.NewMemory()
	const page = 2 << 20
	va, err := m.Reserve(0, 2*page, page, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(2) {
		if err := m.Map(va+i*page, make([]byte, page), vm.AllocOptions{Kind: vm.RegionMapped}); err != nil {
			t.Fatal(err)
		}
	}
	pieces := 0
	err = m.Spans(va, 2*page, func([]byte) {
		pieces++
		if _, err := m.Free(va+page, "test"); err != nil {
			t.Error(err)
		}
	})
	if pieces != 1 || !errors.Is(err, vm.ErrOutOfBounds) {
		t.Errorf("%d pieces, then %v", pieces, err)
	}
}

func TestHugeAllocationsFail(t *testing.T) {
	if _, err := vm.NewMemory().Alloc(1<<60, vm.AllocOptions{}); err == nil {
		t.Error("an exabyte was allocated")
	}
}

// When every address in a device's arena has been used once, allocations must search the gaps up to
// the end of the arena. An allocation that does not fit into a gap must be rejected.
func TestGapsReachToTheEndOfTheAddresses(t *testing.T) {
	m := vm.NewMemory()
	reserve := func(size uint64) uint64 {
		t.Helper()
		a, err := m.Reserve(0, size, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	const arena, apart = 1 << 40, 256 // size of one device's address range, and minimum distance between allocations
	start := reserve(arena / 2)
	all := arena - start%arena - apart
	if a, err := m.Reserve(0, all-arena/2, 0, 0); !errors.Is(err, vm.ErrOutOfAddress) {
		t.Errorf("all that is left and what has to lie between: %#x, %v", a, err)
	}
	if err := m.Unreserve(start); err != nil {
		t.Fatal(err)
	}
	if a, err := m.Reserve(0, all+1, 0, 0); !errors.Is(err, vm.ErrOutOfAddress) {
		t.Errorf("a byte more than there is: %#x, %v", a, err)
	}
	whole := reserve(all)
	if whole != start {
		t.Errorf("all addresses begin at %#x, want %#x", whole, start)
	}
	if a, err := m.Reserve(0, 1, 0, 0); !errors.Is(err, vm.ErrOutOfAddress) {
		t.Errorf("with no address left: %#x, %v", a, err)
	}
	if err := m.Unreserve(whole); err != nil {
		t.Fatal(err)
	}
	reserve(all - arena/2 - apart) // occupy the addresses that were never used
	low, high := reserve(1<<20), reserve(1<<20)
	if low != start || high != low+1<<20+apart {
		t.Errorf("two ranges at %#x and %#x", low, high)
	}
	if err := m.Unreserve(low); err != nil {
		t.Fatal(err)
	}
	if again := reserve(1 << 20); again != low {
		t.Errorf("a gap of the size is at %#x, the range lies at %#x", low, again)
	}
}

func TestAddressesAreUsedAgainOnRequest(t *testing.T) {
	alloc := func(mem *vm.Memory, size, align uint64) uint64 {
		addr, err := mem.Alloc(size, vm.AllocOptions{Align: align})
		if err != nil {
			t.Fatal(err)
		}
		return addr
	}
	free := func(mem *vm.Memory, addrs ...uint64) {
		for _, a := range addrs {
			if _, err := mem.Free(a, "test"); err != nil {
				t.Fatal(err)
			}
		}
	}
	never := vm.NewMemory()
	a := alloc(never, 1000, 0)
	free(never, a)
	if b := alloc(never, 1000, 0); b == a {
		t.Error("an address is used again")
	}

	mem := vm.NewMemory()
	mem.ReuseAddresses()
	a, b, c := alloc(mem, 1000, 0), alloc(mem, 1000, 0), alloc(mem, 5000, 0)
	free(mem, a, b)
	if got := alloc(mem, 5000, 0); got == a || got == b {
		t.Errorf("5000 bytes lie at %#x, where 1000 were", got)
	}
	if got := alloc(mem, 1000, 0); got != b {
		t.Errorf("%#x, want %#x, which was freed last", got, b)
	}
	if got := alloc(mem, 900, 0); got != a {
		t.Errorf("%#x, want %#x, which is large enough in units of 512", got, a)
	}
	if got := alloc(mem, 1000, 0); got == a || got == b || got == c {
		t.Errorf("%#x is in use", got)
	}
	free(mem, b)
	if got := alloc(mem, 1000, 1<<20); got == b || got%(1<<20) != 0 {
		t.Errorf("%#x for an alignment of 1 MiB", got)
	}
	// Freed space must stay free if an allocation in it would be too close to another allocation or
	// a reservation.
	small, next := alloc(mem, 10, 0), alloc(mem, 10, 0)
	free(mem, small)
	if got := alloc(mem, 500, 0); got == small {
		t.Errorf("500 bytes at %#x, and %#x is in use", got, next)
	}
	if _, err := mem.Reserve(0, 512, 0, small); err != nil {
		t.Fatal(err)
	}
	if got := alloc(mem, 10, 0); got == small {
		t.Errorf("%#x is reserved", got)
	}
}
