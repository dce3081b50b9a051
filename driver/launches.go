package driver

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// Launches are kernel launches that are made in one crossing, in order, until
// one fails: those of a program that captures its step anew each time.
//
// The blocks of the calls stay where they are when the launches were made, and
// the next launch at the same place usually is of the same kernel with the same
// configuration: then only its arguments are stored. Arguments are copied, so a
// launch may be changed and added again. A Launches is used by one goroutine at
// a time; package graph uses it (Scope.Burst), others rarely have a reason to.
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

// MaxLaunches is how many launches a Launches takes: enough for the price of a
// crossing not to show, and few enough for their blocks to stay in the nearest
// cache.
const MaxLaunches = 64

// launchWords is the number of arguments of cuLaunchKernel, launchRoom the words
// behind them for what its kernelParams point to. With a frame's head that is
// three cache lines.
const (
	launchWords = 11
	launchRoom  = 9
)

// NewLaunches returns an empty one.
func NewLaunches() *Launches { return &Launches{calls: loader.NewBatch()} }

// Reset empties it for launches on a stream of d.
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

// Empty forgets the launches, after Run.
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

// Add appends a launch that has no attributes (see Launch.Attributes), unless
// there are MaxLaunches already: then it panics.
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

// lay prepares place i for launches like l.
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

// room returns where n words behind the call at place i can be.
func (b *Launches) room(i, n int) unsafe.Pointer {
	if n <= launchRoom {
		return unsafe.Add(b.call[i], launchWords*wordSize)
	}
	if len(b.side[i]) < n {
		b.side[i] = make([]uint64, n)
	}
	return unsafe.Pointer(unsafe.SliceData(b.side[i]))
}

// pointInto stores the addresses that the arguments have behind these addresses,
// and returns where that is.
func (l *Launch) pointInto(room unsafe.Pointer) unsafe.Pointer {
	args := unsafe.Add(room, uintptr(len(l.ptrs))*addressSize)
	moved := uintptr(args) - uintptr(unsafe.Pointer(unsafe.SliceData(l.store)))
	for _, p := range l.ptrs {
		*(*uintptr)(room) = uintptr(p) + moved
		room = unsafe.Add(room, addressSize)
	}
	return args
}

// setWords lays out what a Launches passes beside the arguments.
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

// kernelShape is what the first launch of a kernel was laid out for.
type kernelShape struct {
	words [launchWords]uintptr
	stamp stamp
}

// shapeOf returns the number of a layout. Launches of one kernel with the same
// configuration have the same, if it is the kernel's first and the kernel says
// what its parameters are.
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

// Run makes the launches and returns how many succeeded, and the error of the
// one after them.
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
