package main

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/loader"
)

// The library as it is called. It exists for Linux.
var nccl = loader.Toolkit{Variable: "PURECUDA_NCCL", Linux: []string{"libnccl.so.2"}}

// oldest is the first version whose collectives can be captured, as
// ncclGetVersion writes it: 2.9.0. Older ones write theirs with fewer digits.
const oldest = 20900

// openNCCL opens NCCL and returns its version.
func openNCCL() (lib loader.Library, version int32, err error) {
	lib, err = loader.OpenToolkit(nccl, func(l *loader.DynamicLibrary) error {
		get, err := l.Lookup("ncclGetVersion")
		if err != nil {
			return err
		}
		if version = versionOf(&get); version < oldest {
			return fmt.Errorf("version %d, and only 2.9 and newer can be captured", version)
		}
		return nil
	})
	return lib, version, err
}

func versionOf(get *loader.Proc) int32 {
	v := new(int32)
	block := struct {
		call loader.Call
		v    *int32
		_    [7]uintptr
	}{call: loader.Call{Proc: get, N: 1}, v: v}
	loader.Invoke(&block.call)
	return *v
}

// Constants of nccl.h.
const (
	ncclSum     = 0
	ncclFloat32 = 7
)

// world is a communicator for each of several devices, all in this process. One
// goroutine uses it at a time.
type world struct {
	initAll, destroy, allReduce, groupStart, groupEnd, statusText, lastError loader.Proc

	comms  []uintptr
	scopes []*loader.Scope // each call runs with the device's context current
}

// newWorld connects the devices of the contexts, which are the first of the
// machine, in order.
func newWorld(lib loader.Library, contexts []*driver.Context) (*world, error) {
	w := new(world)
	for name, proc := range map[string]*loader.Proc{
		"ncclCommInitAll": &w.initAll, "ncclCommDestroy": &w.destroy, "ncclAllReduce": &w.allReduce,
		"ncclGroupStart": &w.groupStart, "ncclGroupEnd": &w.groupEnd,
		"ncclGetErrorString": &w.statusText, "ncclGetLastError": &w.lastError,
	} {
		var err error
		if *proc, err = lib.Lookup(name); err != nil && proc != &w.lastError { // that one came with 2.13
			return nil, err
		}
	}
	for _, c := range contexts {
		w.scopes = append(w.scopes, c.Driver().Scope())
	}
	return w, w.connect(len(contexts))
}

func (w *world) connect(n int) error {
	comms := make([]uintptr, n)
	block := struct {
		call    loader.Call
		comms   *uintptr
		n       uintptr
		devices uintptr // NULL: the first n
		_       [5]uintptr
	}{call: loader.Call{Proc: &w.initAll, Scope: w.scopes[0], N: 3}, comms: &comms[0], n: uintptr(n)}
	if err := w.failure("ncclCommInitAll", loader.Invoke(&block.call)); err != nil {
		return err
	}
	w.comms = comms
	return nil
}

// Close takes the communicators apart. NCCL waits until no graph has work of
// theirs any more, so graphs are closed before.
func (w *world) Close() error {
	var errs []error
	for i, c := range w.comms {
		errs = append(errs, w.call("ncclCommDestroy", &w.destroy, i, c))
	}
	w.comms = nil
	return errors.Join(errs...)
}

// sum replaces what is in every buffer by the sum of all of them, in the order
// of the streams, one of each device. NCCL keeps what belongs to a group with the
// thread, so the goroutine stays on one.
func (w *world) sum(buffers []*driver.Buffer[float32], streams []*driver.Stream) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := w.call("ncclGroupStart", &w.groupStart, 0); err != nil {
		return err
	}
	var errs []error
	for i, b := range buffers {
		p := uintptr(b.Ptr())
		errs = append(errs, w.call("ncclAllReduce", &w.allReduce, i,
			p, p, uintptr(b.Len()), ncclFloat32, ncclSum, w.comms[i], uintptr(streams[i].Raw())))
	}
	// It ends in any case: otherwise everything that follows would be in the group.
	errs = append(errs, w.call("ncclGroupEnd", &w.groupEnd, 0))
	runtime.KeepAlive(buffers)
	runtime.KeepAlive(streams)
	return errors.Join(errs...)
}

// call makes a call for one of the devices whose arguments are words only.
func (w *world) call(name string, proc *loader.Proc, device int, words ...uintptr) error {
	block := struct {
		call  loader.Call
		words [8]uintptr
	}{call: loader.Call{Proc: proc, Scope: w.scopes[device], N: uintptr(len(words))}}
	copy(block.words[:], words)
	return w.failure(name, loader.Invoke(&block.call))
}

// failure is the error of a status other than success, with what NCCL says about
// the latest error.
func (w *world) failure(name string, ret uintptr) error {
	status := int32(uint32(ret))
	if status == 0 {
		return nil
	}
	err := fmt.Errorf("%s: %s (%d)", name, text(&w.statusText, uintptr(uint32(status))), status)
	if !w.lastError.IsZero() {
		err = fmt.Errorf("%w: %s", err, text(&w.lastError, 0))
	}
	return err
}

// text calls a function that returns a string of the library's.
func text(proc *loader.Proc, arg uintptr) string {
	block := struct {
		call loader.Call
		arg  uintptr
		_    [7]uintptr
	}{call: loader.Call{Proc: proc, N: 1}, arg: arg}
	loader.Invoke(&block.call)
	p := *(**byte)(unsafe.Pointer(&block.call.Ret))
	if p == nil {
		return "no text"
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
