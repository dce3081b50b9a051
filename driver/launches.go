package driver

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// Launches is a batch of kernel launches, made in order with one native call, until one fails. Use
// it for a program that captures its step anew each time.
//
// The call blocks stay in place after a run. The next launch at the same index usually has the same
// kernel and configuration, and then only its arguments are stored. Arguments are copied, so a
// launch may be changed and added again. Only one goroutine at a time may use a Launches. It is
// meant for package graph (Scope.Burst).
type Launches struct {
	d      *Driver
	stream CUstream
	calls  *loader.Batch
	n      int // launches that were added

	shape [MaxLaunches]stamp          // by place: what its block is laid out for
	args  [MaxLaunches]unsafe.Pointer // where the arguments go
	call  [MaxLaunches]unsafe.Pointer // the words of the call
	side  [MaxLaunches][]uint64       // room for more arguments than a block has
}

// MaxLaunches is the capacity of a Launches: enough to hide the call overhead, and few enough for
// their blocks to stay in the nearest cache.
const MaxLaunches = 64

// launchWords is the number of arguments of cuLaunchKernel. launchRoom is the number of words after
// them for what its kernelParams point to. With a frame's head they take three cache lines.
const (
	launchWords = 11
	launchRoom  = 9
)

// NewLaunches returns an empty batch.
func NewLaunches() *Launches { return &Launches{calls: loader.NewBatch()} }

// Reset empties the batch and selects the driver and the stream of the next launches.
func (b *Launches) Reset(d *Driver, s CUstream) {
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

// Empty removes the launches, after Run.
func (b *Launches) Empty() {
	if b == nil || b.calls == nil {
		return
	}
	b.n = 0
}

// Len returns the number of launches.
func (b *Launches) Len() int {
	if b == nil {
		return 0
	}
	return b.n
}

// Add appends a launch without attributes (see Launch.Attributes). It panics if there are
// MaxLaunches already.
func (b *Launches) Add(l *Launch) {
	if b == nil || b.d == nil || l == nil {
		return
	}
	i := b.n
	if b.shape[i] != l.shape {
		b.lay(i, l)
	}
	to := b.args[i]
	for k, v := range l.store { // a few words: less than a call of copy
		*(*uint64)(unsafe.Add(to, uintptr(k)*wordSize)) = v
	}
	b.n = i + 1
}

// lay prepares place i for launches with l's layout.
func (b *Launches) lay(i int, l *Launch) {
	if i == b.calls.Len() {
		b.call[i] = b.calls.AddRoom(b.d.Proc(cu.FnCuLaunchKernel), launchWords, launchRoom)
	}
	w := (*[launchWords]uintptr)(b.call[i])
	*w = l.words
	w[8] = uintptr(b.stream)
	room := b.room(i, len(l.ptrs)+len(l.store))
	if len(l.ptrs) > 0 {
		w[9] = uintptr(room)
	}
	b.args[i] = l.pointInto(room)
	b.shape[i] = l.shape
}

// room returns n words of memory for the call at place i.
func (b *Launches) room(i, n int) unsafe.Pointer {
	if n <= launchRoom {
		return unsafe.Add(b.call[i], launchWords*wordSize)
	}
	if len(b.side[i]) < n {
		b.side[i] = make([]uint64, n)
	}
	return unsafe.Pointer(unsafe.SliceData(b.side[i]))
}

// pointInto stores the addresses of the arguments in room, for arguments that follow these
// addresses, and returns where the arguments go.
func (l *Launch) pointInto(room unsafe.Pointer) unsafe.Pointer {
	args := unsafe.Add(room, uintptr(len(l.ptrs))*addressSize)
	moved := uintptr(args) - uintptr(unsafe.Pointer(unsafe.SliceData(l.store)))
	for _, p := range l.ptrs {
		*(*uintptr)(room) = uintptr(p) + moved
		room = unsafe.Add(room, addressSize)
	}
	return args
}

// setWords stores the words that a Launches passes in addition to the arguments.
func (l *Launch) setWords() {
	n := &l.node
	l.words = [launchWords]uintptr{
		uintptr(n.Func),
		uintptr(n.GridDimX), uintptr(n.GridDimY), uintptr(n.GridDimZ),
		uintptr(n.BlockDimX), uintptr(n.BlockDimY), uintptr(n.BlockDimZ),
		uintptr(n.SharedMemBytes),
	}
	l.shape = l.k.shapeOf(&l.words)
}

// kernelShape is the layout of a kernel's first launch.
type kernelShape struct {
	words [launchWords]uintptr
	stamp stamp
}

// shapeOf returns the number of a layout. Launches of one kernel share a number if they have the
// configuration of the kernel's first launch and its parameters are known.
func (k *Kernel) shapeOf(words *[launchWords]uintptr) stamp {
	if !k.known {
		return newStamp()
	}
	s := k.shape.Load()
	if s == nil {
		s = &kernelShape{*words, newStamp()}
		if !k.shape.CompareAndSwap(nil, s) {
			s = k.shape.Load()
		}
	}
	if s.words == *words {
		return s.stamp
	}
	return newStamp()
}

// Run makes the launches. It returns how many succeeded, and the error of the first that failed.
func (b *Launches) Run() (done int, err error) {
	if b == nil || b.d == nil {
		return 0, absentError(b == nil, "list of launches")
	}
	done, failure := b.calls.RunFirst(b.d.Scope(), b.n)
	if done == b.n {
		return done, nil
	}
	return done, b.d.Result(cu.FnCuLaunchKernel, failure)
}
