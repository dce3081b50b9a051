package arena

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/graph/internal/turn"
)

// align is the alignment of buffers.
const align = 256

func aligned(at uint64) uint64 { return up(at, align) }

// up rounds n up to a multiple of unit, which is a power of two.
func up(n, unit uint64) uint64 { return (n + unit - 1) &^ (unit - 1) }

// chunk is a range of device memory. If the device can map memory to addresses, an arena has a
// single chunk of reserved addresses and grows by mapping memory at its end. A buffer can then span
// several growths. Otherwise each growth adds a chunk.
type chunk struct {
	at       uint64
	size     uint64   // size of the memory
	reserved uint64   // size of the reserved address range; 0 for memory from cuMemAlloc
	mapped   []uint64 // sizes of the mappings, in the order of their addresses
	used     []*piece // sorted by address; includes all open pieces
}

// fit returns the lowest address at which size bytes for plan overlap no open piece of the same
// plan and no reserved piece. If the memory is too small, it returns where the range would begin if
// the chunk grew.
func (k *chunk) fit(plan *plan, size uint64) (at uint64, ok bool) {
	k.used = slices.DeleteFunc(k.used, func(p *piece) bool { return !p.open() })
	at = aligned(k.at)
	for _, p := range k.used {
		if p.plan != plan && !p.reserved() {
			continue
		}
		if at+size <= p.memory.At {
			return at, true
		}
		at = max(at, aligned(p.end()))
	}
	return at, at+size <= k.at+k.size
}

// place assigns a range to a piece.
func (c *core) place(m *piece, size uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.plan.sealed {
		return refusal.Invalid("the plan is sealed")
	}
	m.memory = turn.Memory{Turn: &c.turn, Plan: &m.plan.Plan, Size: size, Born: c.turn.Now()}
	if size > 0 {
		if err := c.find(m, size); err != nil {
			return err
		}
	}
	m.plan.pieces = append(m.plan.pieces, m)
	return nil
}

func (c *core) find(m *piece, size uint64) error {
	for _, k := range c.chunks {
		if k.take(m, size) {
			return nil
		}
	}
	k, err := c.grow(m.plan, size)
	if err != nil {
		return err
	}
	if !k.take(m, size) {
		return refusal.New(driver.CUDA_ERROR_OUT_OF_MEMORY, "%d bytes at %#x are too few for %d", k.size, k.at, size)
	}
	return nil
}

func (k *chunk) take(m *piece, size uint64) bool {
	at, ok := k.fit(m.plan, size)
	if ok {
		m.memory.At = at
		i, _ := slices.BinarySearchFunc(k.used, at, func(p *piece, at uint64) int { return cmp.Compare(p.memory.At, at) })
		k.used = slices.Insert(k.used, i, m)
	}
	return ok
}

// live returns the memory of all pieces.
func (c *core) live() (live []*turn.Memory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.plans {
		for _, m := range p.pieces {
			live = append(live, &m.memory)
		}
	}
	return live
}

func (c *core) size() (bytes uint64) {
	for _, k := range c.chunks {
		bytes += k.size
	}
	return bytes
}

const (
	growth  = 2 << 20 // default for WithChunk, and the minimum growth when addresses are reserved
	maxSize = 1 << 60
)

// grow makes room for a buffer of the given size. To save calls, it first tries to grow by more
// than that. If the device has too little memory, it grows by only as much as necessary.
func (c *core) grow(plan *plan, size uint64) (*chunk, error) {
	if size > maxSize {
		return nil, driver.CUDA_ERROR_OUT_OF_MEMORY
	}
	if len(c.chunks) == 0 {
		if err := c.reserve(); err != nil {
			return nil, err
		}
	}
	var k *chunk
	need, unit := aligned(size), uint64(align)
	if len(c.chunks) > 0 && c.chunks[0].reserved > 0 {
		k = c.chunks[0]
		at, _ := k.fit(plan, size)
		unit = growth
		need = up(at+size-k.at-k.size, unit)
	}
	want := max(need, up(c.size()/16, growth), growth)
	if c.chunk > 0 {
		want = max(need, up(c.chunk, unit))
	}
	room := uint64(maxSize)
	if c.limit > 0 {
		room = up(c.limit, unit) - min(c.size(), up(c.limit, unit))
	}
	if need > room {
		return nil, refusal.New(driver.CUDA_ERROR_OUT_OF_MEMORY,
			"the arena has %d of at most %d bytes and would have to grow by %d: raise WithLimit or close buffers", c.size(), c.limit, need)
	}
	want = min(want, room)
	if k != nil && k.size+want > k.reserved {
		want = need
	}
	made, err := c.add(k, want)
	if want > need && errors.Is(err, driver.CUDA_ERROR_OUT_OF_MEMORY) {
		want = need
		made, err = c.add(k, want)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot grow by %d bytes: %w", want, err)
	}
	return made, nil
}

// add maps memory at the end of k, or adds a chunk if k is nil.
func (c *core) add(k *chunk, size uint64) (*chunk, error) {
	if k != nil {
		return k, c.extend(k, size)
	}
	var ptr driver.CUdeviceptr
	if err := c.ctx.Guarded().CuMemAlloc(&ptr, uintptr(size)); err != nil {
		return nil, err
	}
	k = &chunk{at: uint64(ptr), size: size}
	c.chunks = append(c.chunks, k)
	return k, nil
}

// If the device can map memory to addresses, reserve reserves addresses for all memory that the
// arena may ever have. Reserving costs no memory.
func (c *core) reserve() error {
	if c.unmapped {
		return nil
	}
	ok, err := c.ctx.Device().Attribute(cu.CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
	if err != nil || ok == 0 {
		return err
	}
	total, err := c.ctx.Device().TotalMem()
	if err != nil {
		return err
	}
	size := up(total, growth)
	if c.limit > 0 && c.limit < total {
		size = up(c.limit, growth)
	}
	var ptr driver.CUdeviceptr
	if err := c.ctx.Guarded().CuMemAddressReserve(&ptr, uintptr(size), 0, 0, 0); err != nil {
		return fmt.Errorf("cannot reserve %d bytes of addresses: %w", size, err)
	}
	c.chunks = append(c.chunks, &chunk{at: uint64(ptr), reserved: size})
	return nil
}

// extend maps memory at the end of a chunk.
func (c *core) extend(k *chunk, size uint64) error {
	if k.size+size > k.reserved {
		return driver.CUDA_ERROR_OUT_OF_MEMORY
	}
	d, at := c.ctx.Guarded(), driver.CUdeviceptr(k.at+k.size)
	where := cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE, Id: int32(c.ctx.Device().Raw())}
	prop := cu.CUmemAllocationProp{Type: cu.CU_MEM_ALLOCATION_TYPE_PINNED, Location: where}
	var handle cu.CUmemGenericAllocationHandle
	if err := d.CuMemCreate(&handle, uintptr(size), &prop, 0); err != nil {
		return err
	}
	if err := d.CuMemMap(at, uintptr(size), 0, handle, 0); err != nil {
		return refusal.Join([]error{err, d.CuMemRelease(handle)})
	}
	err := d.CuMemRelease(handle) // the mapping keeps the memory
	if err == nil {
		access := cu.CUmemAccessDesc{Location: where, Flags: cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE}
		err = d.CuMemSetAccess(at, uintptr(size), &access, 1)
	}
	if err != nil {
		return refusal.Join([]error{err, d.CuMemUnmap(at, uintptr(size))})
	}
	k.mapped = append(k.mapped, size)
	k.size += size
	return nil
}

// free frees the memory. It runs when no buffer of the arena exists and no launch uses the memory.
func (c *core) free(d *cu.Driver) error {
	c.mu.Lock()
	chunks := c.chunks
	c.chunks = nil
	c.mu.Unlock()
	errs := []error{c.turn.Close()}
	for _, k := range chunks {
		if k.reserved == 0 {
			errs = append(errs, d.CuMemFree(driver.CUdeviceptr(k.at)))
			continue
		}
		at := driver.CUdeviceptr(k.at)
		for _, size := range k.mapped {
			errs = append(errs, d.CuMemUnmap(at, uintptr(size)))
			at += driver.CUdeviceptr(size)
		}
		errs = append(errs, d.CuMemAddressFree(driver.CUdeviceptr(k.at), uintptr(k.reserved)))
	}
	return refusal.Join(errs)
}
