package vm

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/driver/emulator/internal/lazymem"
)

// The device address space. Device arenas use addresses at which a 64-bit system does not map
// anything itself: far above Go's heap and below the libraries that the loader maps. Nothing is
// mapped at these addresses. Each allocation is backed by separate Go memory.
const (
	arenaBase  = 0x7000_0000_0000 // the first device's arena
	arenaShift = 40               // 1 TiB of addresses for each device
	arenaStart = 0x0200_0000      // offset of the first allocation in an arena
	maxDevices = 15

	// minGap is the minimum distance between two allocations, so that a small overrun never reaches
	// another allocation.
	minGap   = 256
	minAlign = 256

	// The windows through which generic addresses reach a thread's own spaces. sharedWindow is the
	// generic address of the thread's shared address 0. The other windows work in the same way.
	sharedWindow = 0x6f00_0000_0000
	localWindow  = 0x6f10_0000_0000
	paramWindow  = 0x6f20_0000_0000
	windowMask   = 0xffff_ffff_0000_0000

	// farAway is the largest distance at which Nearest still mentions an allocation.
	farAway = 1 << 32

	reuseUnit = 512 // an allocation can reuse a freed address if both sizes round up to the same multiple of this

	freedKept = 4096 // maximum number of freed ranges remembered for reports
)

// HostDevice is the Device of a Region of host memory.
const HostDevice = -1

// Errors of the address space. The driver translates them into result codes.
var (
	ErrNotMapped    = errors.New("address is not in any allocation")
	ErrOverlap      = errors.New("address range is in use")
	ErrOutOfAddress = errors.New("no address range of this size is left")
	ErrTooLarge     = errors.New("allocation is too large for this machine")
	ErrOutOfBounds  = errors.New("range reaches outside the allocation")
)

// RegionKind classifies regions for reports and for the driver's use.
type RegionKind uint8

// The kinds of region.
const (
	RegionDevice  RegionKind = iota // memory from cuMemAlloc and similar functions
	RegionHost                      // page-locked or registered host memory
	RegionManaged                   // memory from cuMemAllocManaged
	RegionGlobal                    // a module's .global variables
	RegionConst                     // a module's .const variables
	RegionHeap                      // an allocation in the device-side malloc heap
	RegionMapped                    // memory mapped by cuMemMap
)

// AllocOptions describes a new region.
type AllocOptions struct {
	Device   int // ordinal of the owner; HostDevice for host memory
	Kind     RegionKind
	Align    uint64 // alignment in bytes; 0 means 256
	ReadOnly bool   // kernels must not write to the region
	Tag      string // the allocating function or module, for reports: "cuMemAlloc_v2", "module x"
	User     any    // the driver's own record of the allocation
	Reach    *Reach // devices that may access the region; if nil, the owner and its peers
	Made     *Trace // where the program allocated the region; if nil, the caller of Alloc or Map
}

// Region is one allocation. Its exported fields do not change after creation.
type Region struct {
	Addr uint64
	Size uint64
	AllocOptions

	base unsafe.Pointer // first byte of data; nil if the region is empty
	data []byte
	lazy *lazymem.Mapping // the mapping that contains data; nil if data is on Go's heap
	dead atomic.Bool

	written *byteSet      // nil unless reads of unwritten memory are checked
	shadow  *globalShadow // nil until an access is checked for races; guarded by Memory.track
}

// Bytes returns the region's memory itself, not a copy.
func (r *Region) Bytes() []byte { return r.data }

// Freed reports whether the region was freed. References to its memory remain valid, but another
// region may reuse the memory.
func (r *Region) Freed() bool { return r.dead.Load() }

// Memory is the address space shared by the host and all devices. All methods may be called
// concurrently.
type Memory struct {
	mu       sync.RWMutex
	regions  []*Region // sorted by address
	reserved []span    // ranges reserved by Reserve, sorted by address
	next     [maxDevices]uint64
	gaps     map[gapKey][]uint64 // addresses that may be reused; nil if reuse is off
	freed    [freedKept]freedSpan
	freedN   uint64
	track    tracker
}

type span struct{ addr, size uint64 }

type freedSpan struct {
	span
	tag, why    string
	made, freed *Trace
}

// NewMemory creates an empty address space.
func NewMemory() *Memory {
	m := new(Memory)
	for i := range m.next {
		m.next[i] = arenaStart
	}
	return m
}

// ReuseAddresses makes each allocation reuse an address freed by an allocation of the same size,
// most recently freed first, as drivers do.
func (m *Memory) ReuseAddresses() { m.gaps = make(map[gapKey][]uint64) }

// gapKey identifies freed addresses by the device and size of the allocations that fit.
type gapKey struct {
	device int
	size   uint64
}

func gapOf(device int, size uint64) gapKey {
	return gapKey{device, (size + reuseUnit - 1) &^ (reuseUnit - 1)}
}

// gap records that a region's address may be reused. The caller must hold m.mu.
func (m *Memory) gap(r *Region) {
	if m.gaps == nil || r.Device < 0 || r.Kind == RegionMapped {
		return
	}
	k := gapOf(r.Device, r.Size)
	m.gaps[k] = append(m.gaps[k], r.Addr)
}

// takeGap returns a freed address at which size bytes fit, or false. The caller must hold m.mu.
func (m *Memory) takeGap(device int, size, align uint64) (uint64, bool) {
	k := gapOf(device, size)
	l := m.gaps[k]
	for i := len(l) - 1; i >= 0; i-- {
		if addr := l[i]; addr%align == 0 && !m.overlaps(addr, size+minGap) && !m.reservedAt(addr, size) {
			m.gaps[k] = slices.Delete(l, i, i+1)
			return addr, true
		}
	}
	return 0, false
}

// NewBuffer returns zeroed memory aligned to at least 8 bytes, as atomic operations require.
func NewBuffer(size uint64) (b []byte, err error) {
	if size > 1<<46 || uint64(uintptr(size)) != size || int64(size) < 0 {
		return nil, ErrTooLarge
	}
	defer func() {
		if recover() != nil { // make panics if the length is out of range
			b, err = nil, ErrTooLarge
		}
	}()
	if size == 0 {
		return nil, nil
	}
	words := make([]uint64, (size+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)[:size:size], nil
}

// Alloc allocates a zeroed region in the arena of o.Device and returns its address.
func (m *Memory) Alloc(size uint64, o AllocOptions) (uint64, error) {
	buf, lazy := lazymem.New(size)
	if lazy == nil {
		var err error
		if buf, err = NewBuffer(size); err != nil {
			return 0, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	addr, err := m.place(o.Device, size, o.Align)
	if err != nil {
		lazy.Release()
		return 0, err
	}
	r := newRegion(addr, buf, o)
	if lazy != nil {
		r.lazy = lazy
		runtime.AddCleanup(r, (*lazymem.Mapping).Release, lazy) // releases the memory if the address space is garbage-collected
	}
	m.insert(m.traced(r))
	return addr, nil
}

func newRegion(addr uint64, b []byte, o AllocOptions) *Region {
	r := &Region{Addr: addr, Size: uint64(len(b)), AllocOptions: o, data: b}
	if len(b) > 0 {
		r.base = unsafe.Pointer(&b[0])
	}
	return r
}

// Map makes b accessible at addr. b is host memory at its own address, or physical memory in a
// reserved range. The region keeps b alive.
func (m *Memory) Map(addr uint64, b []byte, o AllocOptions) error {
	if len(b) == 0 {
		return fmt.Errorf("map of 0 bytes at %#x", addr)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.overlaps(addr, uint64(len(b))) {
		return ErrOverlap
	}
	m.insert(m.traced(newRegion(addr, b, o)))
	return nil
}

// MapHost makes host memory accessible to kernels at its own address.
func (m *Memory) MapHost(b []byte, o AllocOptions) (uint64, error) {
	if len(b) == 0 {
		return 0, errors.New("map of 0 bytes of host memory")
	}
	o.Device = HostDevice
	addr := uint64(uintptr(unsafe.Pointer(&b[0])))
	return addr, m.Map(addr, b, o)
}

// Reserve reserves a range of device addresses for Map. If hint is not 0, is aligned and is free,
// the range begins there.
func (m *Memory) Reserve(device int, size, align, hint uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	addr := hint
	inArena := hint >= arenaBase && hint+size < arenaBase+maxDevices<<arenaShift && hint+size > hint
	if !inArena || hint%max(align, minAlign) != 0 || m.overlaps(hint, size) || m.reservedAt(hint, size) {
		var err error
		if addr, err = m.place(device, size, align); err != nil {
			return 0, err
		}
	}
	i := sort.Search(len(m.reserved), func(i int) bool { return m.reserved[i].addr > addr })
	m.reserved = append(m.reserved, span{})
	copy(m.reserved[i+1:], m.reserved[i:])
	m.reserved[i] = span{addr, size}
	return addr, nil
}

// Unreserve releases a range that Reserve returned. Regions in the range remain.
func (m *Memory) Unreserve(addr uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, s := range m.reserved {
		if s.addr == addr {
			m.reserved = append(m.reserved[:i], m.reserved[i+1:]...)
			return nil
		}
	}
	return ErrNotMapped
}

// Free removes the region that begins at addr and returns it. A kernel that accesses the region
// later faults, and the report contains the text in why.
func (m *Memory) Free(addr uint64, why string) (*Region, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.search(addr)
	if i < 0 || m.regions[i].Addr != addr {
		return nil, ErrNotMapped
	}
	r := m.regions[i]
	m.regions = append(m.regions[:i], m.regions[i+1:]...)
	r.dead.Store(true)
	r.lazy.Release()
	m.gap(r)
	m.freed[m.freedN%freedKept] = freedSpan{span{r.Addr, r.Size}, r.Tag, why, r.Made, r.freedAt()}
	m.freedN++
	return r, nil
}

// Find returns the region that contains addr.
func (m *Memory) Find(addr uint64) (*Region, bool) {
	r := m.find(addr)
	return r, r != nil
}

// All returns all regions, sorted by address.
func (m *Memory) All() []*Region {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return append([]*Region(nil), m.regions...)
}

func (m *Memory) find(addr uint64) *Region {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if i := m.search(addr); i >= 0 {
		if r := m.regions[i]; addr-r.Addr < r.Size || addr == r.Addr {
			return r
		}
	}
	return nil
}

// search returns the index of the last region that starts at or below addr, or -1. The caller must
// hold m.mu.
func (m *Memory) search(addr uint64) int {
	lo, hi := 0, len(m.regions)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if m.regions[mid].Addr <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

func (m *Memory) overlaps(addr, size uint64) bool {
	if addr+size < addr {
		return true
	}
	i := m.search(addr)
	if i >= 0 && m.regions[i].Addr+m.regions[i].Size > addr {
		return true
	}
	return i+1 < len(m.regions) && m.regions[i+1].Addr < addr+size
}

func (m *Memory) reservedAt(addr, size uint64) bool {
	for _, s := range m.reserved {
		if addr < s.addr+s.size && s.addr < addr+size {
			return true
		}
	}
	return false
}

func (m *Memory) insert(r *Region) {
	i := m.search(r.Addr) + 1
	m.regions = append(m.regions, nil)
	copy(m.regions[i+1:], m.regions[i:])
	m.regions[i] = r
}

// place finds a free address range in the device's arena. Unless ReuseAddresses was called, no
// address is used twice until the arena is exhausted, so that even a late use after free is
// detected. Once the arena is exhausted, place searches the gaps.
func (m *Memory) place(device int, size, align uint64) (uint64, error) {
	if device < 0 || device >= maxDevices {
		return 0, fmt.Errorf("device %d has no addresses", device)
	}
	if align == 0 {
		align = minAlign
	}
	if bits.OnesCount64(align) != 1 {
		return 0, fmt.Errorf("alignment %d is not a power of two", align)
	}
	align = max(align, minAlign)
	base := uint64(arenaBase) + uint64(device)<<arenaShift
	end := base + 1<<arenaShift
	if size >= 1<<arenaShift {
		return 0, ErrOutOfAddress
	}
	if addr, ok := m.takeGap(device, size, align); ok {
		return addr, nil
	}
	addr := (base + m.next[device] + align - 1) &^ (align - 1)
	if addr+size+minGap <= end && !m.overlaps(addr, size) && !m.reservedAt(addr, size) {
		m.next[device] = addr + size + minGap - base
		return addr, nil
	}
	return m.placeInGap(base+arenaStart, end, size, align)
}

func (m *Memory) placeInGap(from, end, size, align uint64) (uint64, error) {
	used := append([]span(nil), m.reserved...)
	for _, r := range m.regions {
		used = append(used, span{r.Addr, r.Size})
	}
	sort.Slice(used, func(i, j int) bool { return used[i].addr < used[j].addr })
	addr := (from + align - 1) &^ (align - 1)
	for _, s := range used {
		if s.addr+s.size <= addr {
			continue
		}
		if s.addr >= addr+size+minGap {
			break
		}
		addr = (s.addr + s.size + minGap + align - 1) &^ (align - 1)
	}
	if addr+size+minGap > end {
		return 0, ErrOutOfAddress
	}
	return addr, nil
}

// Bytes returns the memory in [addr, addr+size). The whole range must be in a single region.
func (m *Memory) Bytes(addr, size uint64) ([]byte, error) {
	r := m.find(addr)
	if r == nil {
		return nil, ErrNotMapped
	}
	off := addr - r.Addr
	if size > r.Size-off {
		return nil, ErrOutOfBounds
	}
	return r.data[off : off+size : off+size], nil
}

// Spans calls f with consecutive pieces of [addr, addr+size). The range may cover several adjacent
// regions, such as mappings in one reserved range.
func (m *Memory) Spans(addr, size uint64, f func(b []byte)) error {
	for left, a := size, addr; left > 0; { // check the whole range before calling f for the first time
		r := m.find(a)
		if r == nil {
			return ErrOutOfBounds
		}
		n := min(left, r.Size-(a-r.Addr))
		a, left = a+n, left-n
	}
	for size > 0 {
		r := m.find(addr)
		if r == nil {
			return ErrOutOfBounds
		}
		off := addr - r.Addr
		n := min(size, r.Size-off)
		f(r.data[off : off+n])
		addr, size = addr+n, size-n
	}
	return nil
}

// Read copies len(b) bytes at addr to b.
func (m *Memory) Read(b []byte, addr uint64) error {
	return m.Spans(addr, uint64(len(b)), func(p []byte) { b = b[copy(b, p):] })
}

// Write copies b to the address space.
func (m *Memory) Write(addr uint64, b []byte) error {
	return m.Spans(addr, uint64(len(b)), func(p []byte) { b = b[copy(p, b):] })
}

// Nearest describes the position of addr relative to nearby allocations, for reports.
func (m *Memory) Nearest(addr uint64) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if f := m.lastFreed(addr); f != nil {
		return fmt.Sprintf("%#x is %d bytes into %s%s, freed by %s%s", addr, addr-f.addr,
			describe(f.addr, f.size, f.tag), f.made.at(", allocated at "), f.why, f.freed.at(" at "))
	}
	i := m.search(addr)
	best, dist := "", ^uint64(0)
	if i >= 0 {
		r := m.regions[i]
		switch end := r.Addr + r.Size; {
		case addr < end:
			return fmt.Sprintf("%#x is %d bytes into %s", addr, addr-r.Addr, r.describe())
		default:
			dist = addr - end
			best = fmt.Sprintf("%#x is %d bytes after the end of %s", addr, dist, r.describe())
		}
	}
	if i+1 < len(m.regions) {
		if r := m.regions[i+1]; r.Addr-addr < dist {
			dist = r.Addr - addr
			best = fmt.Sprintf("%#x is %d bytes before %s", addr, r.Addr-addr, r.describe())
		}
	}
	if best == "" || dist > farAway {
		return fmt.Sprintf("there is no allocation near %#x", addr)
	}
	return "nearest allocation: " + best
}

func (r *Region) describe() string {
	return describe(r.Addr, r.Size, r.Tag) + r.Made.at(", allocated at ")
}

func describe(addr, size uint64, tag string) string {
	if tag == "" {
		tag = "an allocation"
	}
	return fmt.Sprintf("%s [%#x, %#x) of %d bytes", tag, addr, addr+size, size)
}

// lastFreed returns the most recently freed range that contains addr. If a live region contains
// addr, it returns nil. The caller must hold m.mu.
func (m *Memory) lastFreed(addr uint64) *freedSpan {
	if i := m.search(addr); i >= 0 && addr-m.regions[i].Addr < m.regions[i].Size {
		return nil
	}
	for n := min(m.freedN, freedKept); n > 0; n-- {
		f := &m.freed[(m.freedN-1-(min(m.freedN, freedKept)-n))%freedKept]
		if addr-f.addr < f.size {
			return f
		}
	}
	return nil
}

func (m *Memory) wasFreed(addr uint64) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.lastFreed(addr) != nil
}

// Reach specifies which devices may read and write a region. It may be changed while kernels run.
// The change applies to blocks that start afterwards.
type Reach struct{ read, write atomic.Uint64 }

// Set sets the access rights of a device.
func (r *Reach) Set(device int, read, write bool) {
	for set, on := range map[*atomic.Uint64]bool{&r.read: read, &r.write: write} {
		if on {
			set.Or(1 << uint(device))
		} else {
			set.And(^(uint64(1) << uint(device)))
		}
	}
}

// May returns the access rights of a device.
func (r *Reach) May(device int) (read, write bool) {
	return r.read.Load()>>uint(device)&1 != 0, r.write.Load()>>uint(device)&1 != 0
}

// allowed reports whether the region's Reach permits access by the launch's device.
func (r *launchRun) allowed(g *Region, write bool) bool {
	reads, writes := g.Reach.May(r.opts.Device.Ordinal)
	return writes || reads && !write
}
