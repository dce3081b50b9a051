package main

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/loader"
)

// nccl names the library's file. NCCL exists for Linux only.
var nccl = loader.Toolkit{Variable: "PURECUDA_NCCL", Linux: []string{"libnccl.so.2"}}

// oldest is the first version whose collectives can be captured: 2.9.0, as
// ncclGetVersion returns it. Older versions return fewer digits.
const oldest = 20900

// openNCCL opens NCCL and returns its version.
func openNCCL() (lib loader.Library, version int32, err error) {
	lib, err = loader.OpenToolkit(nccl, func(l *loader.DynamicLibrary) error {
		var f struct {
			NcclGetVersion func(version *int32) int32
		}
		if err := loader.LookupAll(l, nil, &f); err != nil {
			return err
		}
		if f.NcclGetVersion(&version); version < oldest {
			return fmt.Errorf("version %d, and only 2.9 and newer can be captured", version)
		}
		return nil
	})
	return lib, version, err
}

// Constants of nccl.h.
const (
	ncclSum     = 0
	ncclFloat32 = 7
)

// functions are the NCCL functions that the example calls, with C's parameters.
type functions struct {
	NcclCommInitAll func(comms *uintptr, n int32, devices *int32) int32
	NcclCommDestroy func(comm uintptr) int32
	NcclGroupStart  func() int32
	NcclGroupEnd    func() int32
	NcclAllReduce   func(from, to driver.CUdeviceptr, count uintptr, dataType, op int32, comm uintptr, stream driver.CUstream) int32

	NcclGetErrorString func(status int32) string
	NcclGetLastError   func(comm uintptr) string `symbol:",optional"` // since 2.13
}

// world has a communicator for each device of this process. Only one goroutine at a
// time may use it.
type world struct {
	comms   []uintptr
	devices []functions // for each device, whose context is current during a call
}

// newWorld connects the devices of the contexts. They must be the first devices of the
// machine, in order.
func newWorld(lib loader.Library, contexts []*driver.Context) (*world, error) {
	w := &world{devices: make([]functions, len(contexts))}
	for i, c := range contexts {
		if err := loader.LookupAll(lib, c.Driver().Scope(), &w.devices[i]); err != nil {
			return nil, err
		}
	}
	comms := make([]uintptr, len(contexts))
	if err := w.failure("ncclCommInitAll", w.devices[0].NcclCommInitAll(&comms[0], int32(len(comms)), nil)); err != nil {
		return nil, err
	}
	w.comms = comms
	return w, nil
}

// Close destroys the communicators. NCCL waits until no graph uses them any more, so
// close the graphs first.
func (w *world) Close() error {
	var errs []error
	for i, c := range w.comms {
		errs = append(errs, w.failure("ncclCommDestroy", w.devices[i].NcclCommDestroy(c)))
	}
	w.comms = nil
	return errors.Join(errs...)
}

// sum replaces every buffer by the sum of all buffers, in stream order. There is one
// buffer and one stream for each device. NCCL keeps the open group per thread, so the
// goroutine is locked to its thread.
func (w *world) sum(buffers []*driver.Buffer[float32], streams []*driver.Stream) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := w.failure("ncclGroupStart", w.devices[0].NcclGroupStart()); err != nil {
		return err
	}
	var errs []error
	for i, b := range buffers {
		errs = append(errs, w.failure("ncclAllReduce", w.devices[i].NcclAllReduce(
			b.Ptr(), b.Ptr(), uintptr(b.Len()), ncclFloat32, ncclSum, w.comms[i], streams[i].Raw())))
	}
	// End the group after an error as well. Otherwise later calls would belong to it.
	errs = append(errs, w.failure("ncclGroupEnd", w.devices[0].NcclGroupEnd()))
	runtime.KeepAlive(buffers)
	runtime.KeepAlive(streams)
	return errors.Join(errs...)
}

// failure returns an error unless the status is success. It includes NCCL's text about
// its last error.
func (w *world) failure(name string, status int32) error {
	if status == 0 {
		return nil
	}
	f := &w.devices[0]
	err := fmt.Errorf("%s: %s (%d)", name, f.NcclGetErrorString(status), status)
	if f.NcclGetLastError != nil {
		err = fmt.Errorf("%w: %s", err, f.NcclGetLastError(0))
	}
	return err
}
