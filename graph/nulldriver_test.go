package graph_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// null is a driver whose functions succeed at once, do nothing and allocate
// nothing: what is left to measure is this module's own.
type null struct {
	handles uintptr
	memory  [][]uint64 // of the host, which is written
}

func nullDriver(t testing.TB) *driver.Driver { return gputest.Driver(t, new(null)) }

func (*null) Name() string { return "null driver" }
func (*null) Close() error { return nil }

func (d *null) Lookup(symbol string) (loader.Proc, error) {
	switch symbol {
	case "cuDriverGetVersion":
		return number(0, 13000), nil
	case "cuDeviceGetCount":
		return number(0, 1), nil
	case "cuDeviceGetAttribute", "cuFuncGetAttribute":
		return number(0, 1024), nil
	case "cuCtxGetCurrent":
		return loader.FuncProc(func(a loader.Args) uintptr {
			*(*uintptr)(a.Ptr(0)) = 1
			return 0
		}), nil
	case "cuMemHostAlloc":
		return loader.FuncProc(d.hostMemory), nil
	case "cuFuncGetParamInfo":
		return loader.Proc{}, loader.ErrSymbolNotFound
	}
	for _, maker := range []string{
		"cuDevicePrimaryCtxRetain", "cuStreamCreate", "cuEventCreate", "cuModuleLoad", "cuModuleGetFunction",
		"cuMemAlloc", "cuGraphCreate", "cuGraphAdd", "cuGraphInstantiate", "cuUserObjectCreate",
	} {
		if strings.HasPrefix(symbol, maker) && symbol != "cuGraphAddDependencies_v2" {
			return loader.FuncProc(d.make), nil
		}
	}
	return loader.FuncProc(func(loader.Args) uintptr { return 0 }), nil
}

// make gives out a handle, or an address: the first is that of the context, the
// only one there is.
func (d *null) make(a loader.Args) uintptr {
	*(*uintptr)(a.Ptr(0)) = 1 + d.handles<<20
	d.handles++
	return 0
}

// hostMemory gives out memory that is there until the driver is gone.
func (d *null) hostMemory(a loader.Args) uintptr {
	m := make([]uint64, a.Uint64(1)/8+1)
	d.memory = append(d.memory, m)
	*(*unsafe.Pointer)(a.Ptr(0)) = unsafe.Pointer(&m[0])
	return 0
}

func number(i int, v int32) loader.Proc {
	return loader.FuncProc(func(a loader.Args) uintptr {
		*(*int32)(unsafe.Pointer(a.Ptr(i))) = v
		return 0
	})
}
