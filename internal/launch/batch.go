package launch

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/loader"
)

// Batch performs kernel launches in order with one native call, and stops at the first failure. It
// is meant for programs that capture each step anew.
//
// The call blocks remain after a run. The next launch at the same index usually has the same kernel
// and configuration, so Add then stores only the launch's arguments. Add copies the arguments, so a
// launch may be changed and added again. Only one goroutine at a time may use a Batch. Package
// graph uses it for Scope.Burst.
type Batch struct {
	d      *cu.Driver
	stream cu.CUstream
	calls  *loader.Batch
	n      int // number of added launches

	shape [Max]Stamp          // for each call, the layout of its block
	args  [Max]unsafe.Pointer // for each call, the place where its arguments are stored
	call  [Max]unsafe.Pointer // for each call, the words of its block
	side  [Max][]uint64       // for each call, memory for arguments that do not fit in its block
}

// Max is the capacity of a Batch. It is large enough to hide the call overhead, and small enough
// for the call blocks to stay in the L1 cache.
const Max = 64

// Words is the number of arguments of cuLaunchKernel. room is the number of words after them in a
// block, for the addresses and values of the kernel's arguments. Together with a frame's head they
// fill three cache lines.
const (
	Words = 11
	room  = 9
)

// NewBatch returns an empty batch.
func NewBatch() *Batch { return &Batch{calls: loader.NewBatch()} }

// Reset empties the batch and sets the driver and the stream for the next launches.
func (b *Batch) Reset(d *cu.Driver, s cu.CUstream) {
	if b == nil || b.calls == nil {
		return
	}
	b.n = 0
	if b.d == d && b.stream == s {
		return
	}
	b.d, b.stream = d, s
	b.calls.Reset()
	clear(b.shape[:])
}

// Empty removes all launches. Call it after Run.
func (b *Batch) Empty() {
	if b == nil || b.calls == nil {
		return
	}
	b.n = 0
}

// Len returns the number of launches.
func (b *Batch) Len() int {
	if b == nil {
		return 0
	}
	return b.n
}

// Add appends a launch without attributes (see Block.Attributes). It panics if the batch already
// contains Max launches.
func (b *Batch) Add(l *Block) {
	if b == nil || b.d == nil || l == nil {
		return
	}
	i := b.n
	if b.shape[i] != l.Shape {
		b.lay(i, l)
	}
	to := b.args[i]
	for k, v := range l.Store { // for a few words a loop is faster than copy
		*(*uint64)(unsafe.Add(to, uintptr(k)*WordSize)) = v
	}
	b.n = i + 1
}

// lay prepares index i for launches with the same layout as l.
func (b *Batch) lay(i int, l *Block) {
	if i == b.calls.Len() {
		b.call[i] = b.calls.AddRoom(b.d.Proc(cu.FnCuLaunchKernel), Words, room)
	}
	w := (*[Words]uintptr)(b.call[i])
	*w = l.Words
	w[8] = uintptr(b.stream)
	room := b.roomFor(i, len(l.Ptrs)+len(l.Store))
	if len(l.Ptrs) > 0 {
		w[9] = uintptr(room)
	}
	b.args[i] = l.pointInto(room)
	b.shape[i] = l.Shape
}

// roomFor returns memory of n words for the arguments of call i.
func (b *Batch) roomFor(i, n int) unsafe.Pointer {
	if n <= room {
		return unsafe.Add(b.call[i], Words*WordSize)
	}
	if len(b.side[i]) < n {
		b.side[i] = make([]uint64, n)
	}
	return unsafe.Pointer(unsafe.SliceData(b.side[i]))
}

// pointInto stores the address that each argument will have in the memory at room. It returns the
// place for the arguments, directly after these addresses.
func (l *Block) pointInto(room unsafe.Pointer) unsafe.Pointer {
	args := unsafe.Add(room, uintptr(len(l.Ptrs))*WordSize)
	moved := uintptr(args) - uintptr(unsafe.Pointer(unsafe.SliceData(l.Store)))
	for _, p := range l.Ptrs {
		*(*uintptr)(room) = uintptr(p) + moved
		room = unsafe.Add(room, WordSize)
	}
	return args
}

// Run performs the launches. It returns how many succeeded, and the error of the launch that
// failed, if any.
func (b *Batch) Run() (done int, err error) {
	if b == nil || b.d == nil {
		return 0, noBatch.Error(b == nil)
	}
	done, failure := b.calls.RunFirst(b.d.Scope(), b.n)
	if done == b.n {
		return done, nil
	}
	return done, b.d.Result(cu.FnCuLaunchKernel, failure)
}

var noBatch = absent.Kind{Name: "list of launches", Make: "launch.NewBatch", Code: cu.CUDA_ERROR_INVALID_VALUE}
