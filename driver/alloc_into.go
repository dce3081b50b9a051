package driver

import (
	"errors"
	"reflect"
	"runtime"
)

// AllocAsyncInto is AllocAsync into a buffer that the caller reuses: the zero Buffer at first,
// later one that was closed. If the pool keeps memory (MemPool.SetReleaseThreshold) and the program
// allocates and frees the same size in one stream, the address stays the same and nothing is
// allocated on Go's heap.
//
// It returns an error if the buffer is open. Views and prepared launches of the previous allocation
// work again if address and size are the same. Otherwise they report that it is closed.
//
// Only one goroutine at a time may use b.
func AllocAsyncInto[T any](s *Stream, b *Buffer[T], n int) error {
	if b == nil {
		return invalidf("the buffer to allocate into is nil; it can be a zero Buffer")
	}
	a := b.mem.a
	if a != nil && !a.life.Closed() {
		return invalidf("the buffer to allocate into is open: %v", b)
	}
	bytes, err := bufferBytes[T](n)
	if err != nil {
		return err
	}
	if a == nil || !a.fits(s, bytes) {
		return allocAnew(s, b, n)
	}
	if err := s.ready(); err != nil {
		return cannotMake(reflect.TypeFor[T](), err)
	}
	capturing, err := s.recording()
	if err != nil {
		return cannotMake(reflect.TypeFor[T](), err)
	}
	if capturing {
		return allocAnew(s, b, n)
	}
	var ptr CUdeviceptr
	if err := (*MemPool)(nil).alloc(s, &ptr, bytes); err != nil {
		return cannotMake(reflect.TypeFor[T](), err)
	}
	if ptr == a.ptr {
		return a.reopen(s)
	}
	made := new(owned[T])
	if err := made.a.adopt(s, reflect.TypeFor[T](), ptr, bytes); err != nil {
		return err
	}
	*b = *made.set()
	return nil
}

func allocAnew[T any](s *Stream, b *Buffer[T], n int) error {
	made, err := AllocAsync[T](s, n)
	if err == nil {
		*b = *made
	}
	return err
}

// fits reports whether the allocation has ended and could be reused for bytes in the order of s.
func (a *allocation) fits(s *Stream, bytes uintptr) bool {
	o := a.order
	return o != nil && !o.graph && a.owner == nil && bytes > 0 && a.bytes == bytes &&
		s.open() && a.ctx == s.ctx && o.life.Parent() == s.life && a.life.Ended()
}

// reopen opens an ended allocation again, for memory at the same address.
func (a *allocation) reopen(s *Stream) error {
	o := a.order
	if err := a.life.BeginIn(s.life); err != nil {
		return errors.Join(err, s.guardedSelf().CuMemFreeAsync(a.ptr, s.raw))
	}
	o.mu.Lock()
	o.d, o.stream, o.hold = s.guardedSelf(), s.raw, nil
	o.mu.Unlock()
	a.watch.Stay()
	a.watch.Own(a.life, uint64(a.ptr), o)
	runtime.KeepAlive(s)
	return nil
}

// adopt makes a the allocation of memory that was just allocated in the order of s.
func (a *allocation) adopt(s *Stream, elem reflect.Type, ptr CUdeviceptr, bytes uintptr) error {
	o := newOrdered(elem)
	if err := o.life.BeginIn(s.life); err != nil {
		return errors.Join(err, s.guardedSelf().CuMemFreeAsync(ptr, s.raw))
	}
	o.ptr = ptr
	a.begin(s, o, bytes)
	return nil
}
