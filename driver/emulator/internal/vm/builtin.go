package vm

import (
	"encoding/binary"
	"fmt"
	"sync"
)

// The functions that PTX may call and the driver provides: vprintf, malloc,
// free and __assertfail.

// builtin is a function of the engine. args is the bytes of the arguments, and ret receives the
// result.
type builtin func(w *warp, in *inst, lane int, args, ret []byte)

var builtins = map[string]builtin{
	"vprintf":      builtinPrintf,
	"malloc":       builtinMalloc,
	"free":         builtinFree,
	"__assertfail": builtinAssert,
}

// extern finds the Go implementation of an undefined function.
func (c *compiler) extern(name string) (Extern, builtin) {
	if e := c.opts.Externs[name]; e != nil {
		return e, nil
	}
	return nil, builtins[name]
}

// Provided reports whether the engine implements an undefined function of that name.
func Provided(name string) bool { return builtins[name] != nil }

// Heap is the device-side heap of malloc and free. A driver keeps one for each context. Allocations
// live until they are freed or the heap is released.
type Heap struct {
	mu    sync.Mutex
	mem   *Memory
	dev   int
	limit uint64
	used  uint64
	live  map[uint64]uint64 // size by address
}

// NewHeap makes a heap of at most limit bytes on a device.
func NewHeap(mem *Memory, device int, limit uint64) *Heap {
	return &Heap{mem: mem, dev: device, limit: limit, live: map[uint64]uint64{}}
}

// Malloc allocates size bytes. It returns 0 if the heap is exhausted.
func (h *Heap) Malloc(size uint64) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := (max(size, 1) + 15) &^ 15
	if n < size || h.used+n > h.limit {
		return 0
	}
	addr, err := h.mem.Alloc(size, AllocOptions{Device: h.dev, Kind: RegionHeap, Tag: "malloc in a kernel"})
	if err != nil {
		return 0
	}
	h.used += n
	h.live[addr] = n
	return addr
}

// Free frees an allocation of Malloc. It reports whether addr was one.
func (h *Heap) Free(addr uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, ok := h.live[addr]
	if !ok {
		return false
	}
	delete(h.live, addr)
	h.used -= n
	_, err := h.mem.Free(addr, "free in a kernel")
	return err == nil
}

// Release frees everything.
func (h *Heap) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for a := range h.live {
		h.mem.Free(a, "release of the heap")
	}
	clear(h.live)
	h.used = 0
}

// heapOf returns the heap of a launch: its context's, or its own.
func (r *launchRun) heapOf() *Heap {
	if r.opts.Heap != nil {
		return r.opts.Heap
	}
	r.heapOnce.Do(func() {
		limit := r.opts.HeapLimit
		if limit == 0 {
			limit = defaultHeap
		}
		r.ownHeap = NewHeap(r.mem, r.opts.Device.Ordinal, limit)
	})
	return r.ownHeap
}

func builtinMalloc(w *warp, in *inst, lane int, args, ret []byte) {
	var size uint64
	switch {
	case len(args) >= 8:
		size = binary.LittleEndian.Uint64(args)
	case len(args) >= 4:
		size = uint64(binary.LittleEndian.Uint32(args))
	}
	binary.LittleEndian.PutUint64(ret, w.cta.run.heapOf().Malloc(size))
}

func builtinFree(w *warp, in *inst, lane int, args, ret []byte) {
	addr := binary.LittleEndian.Uint64(args)
	if addr != 0 && !w.cta.run.heapOf().Free(addr) {
		panic(w.laneFault(FaultTrap, in, lane, fmt.Sprintf("free of %#x, which malloc did not return or which was freed", addr)))
	}
}

// builtinAssert is __assertfail(message, file, line, function, charsize).
func builtinAssert(w *warp, in *inst, lane int, args, ret []byte) {
	text := func(i int) string { return w.cString(in, binary.LittleEndian.Uint64(args[i*8:]), lane) }
	line := binary.LittleEndian.Uint32(args[16:])
	msg := fmt.Sprintf("%s:%d: %s: block: [%d,%d,%d], thread: [%d,%d,%d] Assertion `%s` failed.", text(1), line, w.cString(in, binary.LittleEndian.Uint64(args[24:]), lane),
		w.cta.id.X, w.cta.id.Y, w.cta.id.Z, w.tid[0][lane], w.tid[1][lane], w.tid[2][lane], text(0))
	w.cta.run.print([]byte(msg + "\n"))
	panic(w.laneFault(FaultAssert, in, lane, msg))
}

// print writes to the launch's output, whole calls at a time.
func (r *launchRun) print(b []byte) {
	if r.opts.Stdout == nil {
		return
	}
	r.outMu.Lock()
	defer r.outMu.Unlock()
	r.opts.Stdout.Write(b)
}

// bytesAt returns n bytes of generic memory for a lane, or as many as there are.
func (w *warp) bytesAt(in *inst, addr uint64, n int, lane int) []byte {
	probe := inst{aux: spaceGeneric}
	var out []byte
	for i := range n {
		e := access{region: deadRegion}
		p := w.reach(&probe, &e, addr+uint64(i), lane)
		out = append(out, *(*byte)(p))
	}
	return out
}

// cString returns the zero-terminated text at a generic address.
func (w *warp) cString(in *inst, addr uint64, lane int) string {
	var out []byte
	for addr != 0 && len(out) < 1<<16 {
		c := w.bytesAt(in, addr, 1, lane)[0]
		if c == 0 {
			break
		}
		out = append(out, c)
		addr++
	}
	return string(out)
}
