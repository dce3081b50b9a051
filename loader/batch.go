package loader

import (
	"runtime"
	"unsafe"
)

// Batch is a list of function calls that are made in one native call. They run in order until one
// fails, that is, returns a result other than 0.
//
// The frames of the calls are in the batch's own memory, which never moves and which the garbage
// collector does not scan. An argument may therefore be the address of an earlier call's output
// word (Frame.SetOut). All other memory that arguments point to must be kept alive, either by the
// batch (SetPtr) or by the caller (SetKept). Reusing a batch after Reset does not allocate. A Batch
// is not safe for concurrent use.
type Batch struct {
	head   batchHead
	first  *frame
	last   *frame
	n      int
	at     int       // number of words in use in chunk
	chunk  []uintptr // the chunk being filled
	chunks [][]uintptr
	used   int // number of chunks that are full or are being filled
	keep   []unsafe.Pointer
	goes   bool // set if any call has a Go function or no function
}

// batchHead is the part of a batch that the assembly reads.
type batchHead struct {
	scope *Scope
	first *frame
	n     uintptr
	done  uintptr
	ret   uintptr
}

// frame is a Call without pointers, as stored in a chunk. The argument words follow it.
type frame struct {
	proc uintptr // *Proc, kept alive by the caller, which keeps its functions in tables
	next uintptr // *frame, at the same offset as Call.Scope
	n    uintptr
	ret  uintptr
}

const argsOffset = unsafe.Sizeof(frame{})

// Chunk sizes start at firstChunkWords and grow up to chunkWords, so a batch with few calls stays
// small.
const (
	firstChunkWords = 1 << 9
	chunkWords      = 1 << 13
)

// NewBatch returns an empty batch. The batch is on the heap, so it does not move even if one of its
// calls runs Go code on the same stack.
//
//go:noinline
func NewBatch() *Batch { return &Batch{} }

// Len returns the number of calls.
func (b *Batch) Len() int {
	if b == nil {
		return 0
	}
	return b.n
}

// Reset empties the batch but keeps its memory. Frames and outputs returned earlier become invalid,
// because the batch reuses them.
func (b *Batch) Reset() {
	if b == nil {
		return
	}
	clear(b.keep)
	b.keep = b.keep[:0]
	b.head.first, b.first, b.last, b.n = nil, nil, nil, 0
	b.used, b.at, b.chunk = 0, 0, nil
	b.goes = false
}

// Frame is the argument block of one call of a batch.
type Frame struct {
	b *Batch
	f *frame
}

// Add appends a call of p. p must not move until the batch has run, and all n arguments must be
// set.
func (b *Batch) Add(p *Proc, n int) Frame {
	return Frame{b, b.push(p, n, callWords+max(n, minWords)+1)} // the extra word is the output word
}

// Add3 is like Add5, but appends a call with three words.
func (b *Batch) Add3(p *Proc, w0, w1, w2 uintptr) Frame {
	f := b.push(p, 3, callWords+3)
	w := (*[3]uintptr)(unsafe.Add(unsafe.Pointer(f), argsOffset))
	w[0], w[1], w[2] = w0, w1, w2
	return Frame{b, f}
}

// Add5 appends a call of p with five words. It is faster than Add, for callers that append
// thousands of calls. The caller must keep the memory that the words point to alive and on the
// heap. The frame has no output word, so it must not be passed to SetOut. The trampoline loads more
// registers than there are words. It reads the rest from the next frame.
func (b *Batch) Add5(p *Proc, w0, w1, w2, w3, w4 uintptr) Frame {
	f := b.push(p, 5, callWords+5)
	w := (*[5]uintptr)(unsafe.Add(unsafe.Pointer(f), argsOffset))
	w[0], w[1], w[2], w[3], w[4] = w0, w1, w2, w3, w4
	return Frame{b, f}
}

// AddRoom is like Add5, but the call has n words, which the caller sets through the returned
// pointer. The n words are followed by additional words, whose number is room. They are not
// arguments, but memory that arguments may point to. This memory does not move until the batch is
// reset.
func (b *Batch) AddRoom(p *Proc, n, room int) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(b.push(p, n, callWords+n+room)), argsOffset)
}

// push appends a frame that occupies need words.
func (b *Batch) push(p *Proc, n, need int) *frame {
	if len(b.chunk)-b.at < need+minWords { // the trampoline may load minWords words from here
		b.grow(need + minWords)
	}
	f := (*frame)(unsafe.Pointer(&b.chunk[b.at]))
	b.at += need
	f.proc, f.n = uintptr(unsafe.Pointer(p)), uintptr(n)
	if b.last == nil {
		b.first = f
	} else {
		b.last.next = uintptr(unsafe.Pointer(f))
	}
	b.last = f
	b.n++
	if p.addr == 0 {
		b.goes = true
	}
	return f
}

func (b *Batch) grow(need int) {
	if b.used == len(b.chunks) {
		b.chunks = append(b.chunks, nil)
	}
	if len(b.chunks[b.used]) < need {
		b.chunks[b.used] = make([]uintptr, max(need, min(firstChunkWords<<b.used, chunkWords)))
	}
	b.chunk, b.at = b.chunks[b.used], 0
	b.used++
}

// SetWord sets argument i to a number or a handle.
func (f Frame) SetWord(i int, w uintptr) { *f.slot(i) = w }

// SetPtr sets argument i to the address of Go memory, which the batch keeps
// alive until it is reset.
func (f Frame) SetPtr(i int, p unsafe.Pointer) {
	f.b.keep = append(f.b.keep, p)
	*f.slot(i) = uintptr(p)
}

// SetKept sets argument i to the address of heap memory that the caller keeps alive until the
// batch has run.
func (f Frame) SetKept(i int, p unsafe.Pointer) { *f.slot(i) = uintptr(p) }

// SetOut sets argument i to the address of a frame's output word. That frame must be f or an
// earlier frame of the same batch.
func (f Frame) SetOut(i int, of Frame) { *f.slot(i) = uintptr(unsafe.Pointer(of.out())) }

// Out returns the output word. A call has written it through an address set by SetOut.
func (f Frame) Out() uintptr { return *f.out() }

// Result returns the result of the call.
func (f Frame) Result() uintptr { return f.f.ret }

// out returns the address of the word after the arguments and the padding.
func (f Frame) out() *uintptr {
	return f.word(max(f.f.n, minWords))
}

func (f Frame) slot(i int) *uintptr {
	if uintptr(i) >= f.f.n {
		panic("loader: argument index out of range")
	}
	return f.word(uintptr(i))
}

func (f Frame) word(i uintptr) *uintptr {
	return (*uintptr)(unsafe.Add(unsafe.Pointer(f.f), argsOffset+i*unsafe.Sizeof(uintptr(0))))
}

// Word returns the address of argument i. Later runs of the batch use the value stored there.
func (f Frame) Word(i int) *uintptr { return f.slot(i) }

// Run makes the calls under scope s. If s is nil, the thread keeps its context and capture mode.
// Run returns the number of successful calls. If a call failed, it also returns that call's result.
// If the scope could not be established, done is 0.
func (b *Batch) Run(s *Scope) (done int, failure uintptr) {
	return b.RunFirst(s, b.Len())
}

// RunFirst is like Run, but makes only the first n calls. If there are fewer than n calls, it makes
// none.
func (b *Batch) RunFirst(s *Scope, n int) (done int, failure uintptr) {
	if b == nil {
		return 0, 0
	}
	return b.runFrom(s, b.first, n)
}

// RunPart is like Run, but makes only n calls, starting with first. A batch may run any number of
// times, as a whole or in parts.
func (b *Batch) RunPart(s *Scope, first Frame, n int) (done int, failure uintptr) {
	return b.runFrom(s, first.f, n)
}

func (b *Batch) runFrom(s *Scope, first *frame, n int) (done int, failure uintptr) {
	if b == nil || n <= 0 || first == nil || n > b.n { // a larger n would read past the last frame
		return 0, 0
	}
	b.head.first, b.head.n, b.head.done, b.head.ret = first, uintptr(n), 0, 0
	b.run(s)
	b.head.scope = nil
	runtime.KeepAlive(b)
	return int(b.head.done), b.head.ret
}

// Stopped returns the function of the call at which the latest run stopped. Call it only if that
// run did not complete all its calls.
func (b *Batch) Stopped() *Proc {
	if b == nil || b.head.first == nil {
		return nil
	}
	f := b.head.first
	for range b.head.done {
		f = *(**frame)(unsafe.Pointer(&f.next))
	}
	return *(**Proc)(unsafe.Pointer(&f.proc))
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
	for f := b.head.first; b.head.done < b.head.n; b.head.done++ {
		next := f.next
		if r := uint32(f.invoke()); r != 0 {
			b.head.ret = uintptr(r)
			return
		}
		if b.head.done+1 < b.head.n {
			f = *(**frame)(unsafe.Pointer(&next))
		}
	}
}

// invoke makes the frame's call without a scope.
func (f *frame) invoke() uintptr {
	next := f.next
	f.next = 0 // the call has no scope
	c := (*Call)(unsafe.Pointer(f))
	r := Invoke(c)
	f.next = next
	return r
}
