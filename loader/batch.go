package loader

import (
	"runtime"
	"unsafe"
)

// Batch is a list of calls that are made in one crossing, in order, until one
// of them fails (returns something other than 0).
//
// Its blocks live in memory of its own that never moves, so a call may take
// the address of an earlier call's output (see Word). Pointers given to a
// block are kept alive by the batch. A batch is reused with Reset and then
// allocates nothing. It is not safe for concurrent use.
type Batch struct {
	head   batchHead
	calls  []*Call
	keep   []unsafe.Pointer
	chunks [][]uintptr
	used   int // chunks that are full or being filled
	free   []uintptr
	native bool
}

// batchHead is what the assembly sees.
type batchHead struct {
	scope *Scope
	calls **Call
	n     uintptr
	done  uintptr
	ret   uintptr
}

const chunkWords = 4096

// NewBatch returns an empty batch. It is on the heap, where it does not move
// even if a call of it runs Go code on the same stack.
//
//go:noinline
func NewBatch() *Batch { return &Batch{native: true} }

// Len returns the number of calls.
func (b *Batch) Len() int { return len(b.calls) }

// Reset empties the batch and keeps its memory. Words it handed out are used
// again.
func (b *Batch) Reset() {
	clear(b.keep)
	b.keep = b.keep[:0]
	b.calls = b.calls[:0]
	b.used, b.free = 0, nil
	b.native = true
}

// Frame is the block of one call of a batch.
type Frame struct {
	b *Batch
	c *Call
}

// Add appends a call of p with n argument words, all 0 until they are set.
func (b *Batch) Add(p *Proc, n int) Frame {
	words := b.words(callWords + max(n, minWords))
	c := (*Call)(unsafe.Pointer(&words[0]))
	b.keep = append(b.keep, unsafe.Pointer(p))
	*c = Call{Proc: p, N: uintptr(n)}
	b.calls = append(b.calls, c)
	b.native = b.native && p.addr != 0
	return Frame{b, c}
}

// SetWord sets argument i to a number or a handle.
func (f Frame) SetWord(i int, w uintptr) { *f.slot(i) = w }

// SetPtr sets argument i to the address of Go memory, which the batch keeps
// alive until it is reset.
func (f Frame) SetPtr(i int, p unsafe.Pointer) {
	f.b.keep = append(f.b.keep, p)
	*f.slot(i) = uintptr(p)
}

// Result returns what the call returned.
func (f Frame) Result() uintptr { return f.c.Ret }

func (f Frame) slot(i int) *uintptr {
	if uint(i) >= uint(f.c.N) {
		panic("loader: argument index out of range")
	}
	return (*uintptr)(unsafe.Add(f.c.args(), uintptr(i)*unsafe.Sizeof(uintptr(0))))
}

// Word returns a zeroed machine word at a fixed address, for the output of one
// call and the input of later ones. It is valid until Reset.
func (b *Batch) Word() *uintptr { return &b.words(1)[0] }

// words returns n zeroed words at a fixed address.
func (b *Batch) words(n int) []uintptr {
	if len(b.free) < n {
		if b.used == len(b.chunks) {
			b.chunks = append(b.chunks, make([]uintptr, max(chunkWords, n)))
		}
		b.free = b.chunks[b.used]
		b.used++
		if len(b.free) < n { // a reused chunk that is smaller than this block
			b.free = make([]uintptr, n)
			b.chunks[b.used-1] = b.free
		}
	}
	w := b.free[:n:n]
	b.free = b.free[n:]
	clear(w)
	return w
}

// Run makes the calls under the scope s (nil: as the thread is). It returns
// how many of them succeeded and, if that is not all, the result of the one
// that failed. A scope that cannot be established fails with done 0.
func (b *Batch) Run(s *Scope) (done int, failure uintptr) {
	if len(b.calls) == 0 {
		return 0, 0
	}
	b.head = batchHead{calls: &b.calls[0], n: uintptr(len(b.calls))}
	b.run(s)
	b.head.scope, b.head.calls = nil, nil
	return int(b.head.done), b.head.ret
}

// runSlow makes the calls one by one on a locked thread.
func (b *Batch) runSlow(s *Scope) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if s != nil {
		mode, failure := s.enter()
		if failure != 0 {
			b.head.ret = failure
			return
		}
		defer s.leave(mode)
	}
	for _, c := range b.calls {
		if r := uint32(Invoke(c)); r != 0 {
			b.head.ret = uintptr(r)
			return
		}
		b.head.done++
	}
}
