//go:build !static && (amd64 || arm64)

package robust

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

// clib provides functions of the C library, with which it starts threads. Like a driver's threads,
// these threads are unknown to Go.
type clib struct {
	t                                    *testing.T
	create, join, semInit, semWait, post *loader.Proc
	calloc, free                         *loader.Proc
}

func openC(t *testing.T) *clib {
	lib, err := loader.Open("libc.so.6")
	ok(t, err)
	t.Cleanup(func() { closes(t, lib) })
	find := func(symbol string) *loader.Proc {
		p, err := lib.Lookup(symbol)
		if err != nil { // before glibc 2.34 the function is in a separate library
			threads, err := loader.Open("libpthread.so.0")
			ok(t, err)
			p, err = threads.Lookup(symbol)
			ok(t, err)
		}
		return &p
	}
	return &clib{t, find("pthread_create"), find("pthread_join"), find("sem_init"), find("sem_wait"),
		find("sem_post"), find("calloc"), find("free")}
}

type cThread struct {
	c  *clib
	id *uintptr
}

func (c *clib) start(fn, arg uintptr) cThread {
	c.t.Helper()
	id := new(uintptr)
	if r := int32(c.create.Call(uintptr(unsafe.Pointer(id)), 0, fn, arg)); r != 0 {
		c.t.Fatalf("pthread_create: %d", r)
	}
	return cThread{c, id}
}

func (th cThread) join() {
	th.c.t.Helper()
	if r := int32(th.c.join.Call(*th.id, 0)); r != 0 {
		th.c.t.Errorf("pthread_join: %d", r)
	}
}

// semaphore returns a semaphore in C memory, for C threads to wait on.
func (c *clib) semaphore() uintptr {
	p := c.calloc.Call(1, 64)
	c.semInit.Call(p, 0, 0)
	return p
}
