package main

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/loader"
)

// nccl names the library file. NCCL exists only for Linux.
var nccl = loader.Toolkit{Variable: "PURECUDA_NCCL", Linux: []string{"libnccl.so.2"}}

// oldest is the first version whose collectives can be captured: NCCL 2.9.0, as ncclGetVersion
// encodes it. Older versions have smaller numbers.
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

// functions holds the NCCL functions that the example calls, with the parameters of the C
// functions.
type functions struct {
	NcclCommInitAll func(comms *uintptr, n int32, devices *int32) int32
	NcclCommDestroy func(comm uintptr) int32
	NcclGroupStart  func() int32
	NcclGroupEnd    func() int32
	NcclAllReduce   func(from, to driver.CUdeviceptr, count uintptr, dataType, op int32, comm uintptr, stream driver.CUstream) int32

	NcclGetErrorString func(status int32) string
	NcclGetLastError   func(comm uintptr) string `symbol:",optional"` // available since NCCL 2.13
}

// world holds one communicator for each device of this process. It is not safe for concurrent
// use.
type world struct {
	comms   []uintptr
	devices []functions // one function table for each device, whose context is current during its calls
}

// newWorld connects the devices of the contexts. They must be the machine's first devices, in
// order, because ncclCommInitAll uses these if its list of devices is nil.
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

// Close destroys the communicators. NCCL waits until no graph uses them, so close the graphs
// first.
func (w *world) Close() error {
	var errs []error
	for i, c := range w.comms {
		errs = append(errs, w.failure("ncclCommDestroy", w.devices[i].NcclCommDestroy(c)))
	}
	w.comms = nil
	return errors.Join(errs...)
}

// sum replaces each buffer with the sum of all buffers, in stream order. There is one buffer and
// one stream per device. sum locks the goroutine to its thread, because NCCL tracks the open group
// per thread.
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
	// End the group even after an error. Otherwise later calls would belong to it.
	errs = append(errs, w.failure("ncclGroupEnd", w.devices[0].NcclGroupEnd()))
	runtime.KeepAlive(buffers)
	runtime.KeepAlive(streams)
	return errors.Join(errs...)
}

// failure returns nil if the status is success. Otherwise it returns an error with NCCL's
// last error message.
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
