package main

/*
#cgo CFLAGS: -O2 -I${SRCDIR}/../../c
#include <stdlib.h>
#include "driver.h"

static CUresult getFunction(CUfunction *f, CUmodule m, const char *name) { return cuModuleGetFunction(f, m, name); }
static CUresult streamCreate(CUstream *s) { return cuStreamCreate(s, STREAM_NON_BLOCKING); }
static CUresult launchSpin(CUfunction f, CUstream s, unsigned long long ns) {
	void *arguments[] = {&ns};
	return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, arguments, NULL);
}
static CUresult streamWait(CUstream s) { return cuStreamSynchronize(s); }
static CUresult streamQuery(CUstream s) { return cuStreamQuery(s); }
static CUresult eventQuery(CUevent e) { return cuEventQuery(e); }
static CUresult eventCreate(CUevent *e, CUstream s) {
	CUresult r = cuEventCreate(e, EVENT_DISABLE_TIMING);
	return r ? r : cuEventRecord(*e, s);
}
static CUresult setCurrent(CUcontext c) { return cuCtxSetCurrent(c); }
static CUresult allocAsync(CUdeviceptr *p, size_t n, CUstream s) { return cuMemAllocAsync(p, n, s); }
static CUresult freeAsync(CUdeviceptr p, CUstream s) { return cuMemFreeAsync(p, s); }
static CUresult launchExec(CUgraphExec x, CUstream s) { return cuGraphLaunch(x, s); }
static CUresult current(CUcontext *c) { return cuCtxGetCurrent(c); }
static CUresult keep(void) {
	CUmemPool pool;
	uint64_t bytes = 64 << 20;
	CUresult r = cuDeviceGetMemPool(&pool, 0);
	return r ? r : cuMemPoolSetAttribute(pool, POOL_RELEASE_THRESHOLD, &bytes);
}

#cgo noescape launchSpin
#cgo nocallback launchSpin
#cgo noescape streamWait
#cgo nocallback streamWait
#cgo noescape streamQuery
#cgo nocallback streamQuery
#cgo noescape eventQuery
#cgo nocallback eventQuery
#cgo noescape setCurrent
#cgo nocallback setCurrent
#cgo noescape allocAsync
#cgo nocallback allocAsync
#cgo noescape freeAsync
#cgo nocallback freeAsync
#cgo noescape launchExec
#cgo nocallback launchExec
*/
import "C"

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"github.com/purecuda/cuda/bench/internal/child"
)

// waits holds the objects of the rows that wait for the device or query it. A wait is the
// driver's blocking call, which cannot be cancelled.
type waits struct {
	context C.CUcontext
	spin    C.CUfunction
	stream  C.CUstream
	event   C.CUevent // recorded in the field stream
	streams [child.CrowdSize]C.CUstream
	crowd   child.Crowd
	execs   child.Crowd
	mutex   sync.Mutex // guards the executable graph that a crowd launches
	took    C.ulonglong
}

const allocBytes = 1 << 16

func (b *bench) prepareWaits() error {
	w := &b.waits
	name := C.CString("spin")
	defer C.free(unsafe.Pointer(name))
	errs := []error{check(C.current(&w.context)), check(C.getFunction(&w.spin, b.s.module, name)),
		check(C.streamCreate(&w.stream)), check(C.eventCreate(&w.event, w.stream)), check(C.keep())}
	for i := range w.streams {
		errs = append(errs, check(C.streamCreate(&w.streams[i])))
	}
	return errors.Join(errs...)
}

func (b *bench) waitRows(rows map[string]child.Row) {
	w := &b.waits
	take := func(us C.ulonglong) func() error {
		return func() error { w.took = us * 1000; return nil }
	}
	settle := func() error { return check(C.streamWait(w.stream)) }
	wait := func(n int) error { return w.launchAndWait(w.stream, n) }
	crowd := func(n int) error {
		return w.crowd.Run(n, func(member, n int) error {
			runtime.LockOSThread() // setCurrent applies only to this thread
			defer runtime.UnlockOSThread()
			if err := check(C.setCurrent(w.context)); err != nil {
				return err
			}
			return w.launchAndWait(w.streams[member], n)
		})
	}
	rows["wait_100us"] = child.Row{Before: take(100), Run: wait}
	rows["wait_1ms"] = child.Row{Before: take(1000), Run: wait}
	rows["wait_100us_background"] = child.Row{Before: take(100), Run: wait}
	rows["wait_crowd"] = child.Row{Before: take(10), Run: crowd}
	rows["wait_crowd_100us"] = child.Row{Before: take(100), Run: crowd}
	rows["event_query"] = child.Row{Before: settle, Run: func(n int) error {
		for range n {
			if r := C.eventQuery(w.event); r != 0 {
				return check(r)
			}
		}
		return nil
	}}
	rows["stream_query"] = child.Row{Before: settle, Run: func(n int) error {
		for range n {
			if r := C.streamQuery(w.stream); r != 0 {
				return check(r)
			}
		}
		return nil
	}}
	rows["alloc_async_slot"] = child.Row{Before: settle, Run: w.allocate, After: settle}
	rows["alloc_async"] = child.Row{Before: settle, Run: w.allocate, After: settle}
	rows["launch_shared_16"] = child.Row{Before: settle, Run: b.launchCrowd, After: settle}
}

func (w *waits) launchAndWait(s C.CUstream, n int) error {
	for range n {
		if r := C.launchSpin(w.spin, s, w.took); r != 0 {
			return check(r)
		}
		if r := C.streamWait(s); r != 0 {
			return check(r)
		}
	}
	return nil
}

func (w *waits) allocate(n int) error {
	for range n {
		var p C.CUdeviceptr
		if r := C.allocAsync(&p, allocBytes, w.stream); r != 0 {
			return check(r)
		}
		if r := C.freeAsync(p, w.stream); r != 0 {
			return check(r)
		}
	}
	return nil
}

// launchCrowd launches one executable graph from many goroutines. A mutex serializes the
// launches.
func (b *bench) launchCrowd(n int) error {
	w := &b.waits
	return w.execs.Run(n, func(_, n int) error {
		for range n {
			w.mutex.Lock()
			r := C.launchExec(b.one, w.stream)
			w.mutex.Unlock()
			if r != 0 {
				return check(r)
			}
		}
		return nil
	})
}
