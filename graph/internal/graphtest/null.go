package graphtest

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// Null is a driver whose functions succeed immediately, do nothing and do not allocate, so tests
// measure only the cost of this module.
type Null struct {
	handles uintptr
	memory  [][]uint64 // allocations, in host memory because tests write to them
}

// NullDriver opens a Null.
func NullDriver(t testing.TB) *driver.Driver { return gputest.Driver(t, new(Null)) }

func (*Null) Name() string { return "null driver" }
func (*Null) Close() error { return nil }

func (d *Null) Lookup(symbol string) (loader.Proc, error) {
	switch symbol {
	case "cuDriverGetVersion":
		return Number(0, 13000), nil
	case "cuDeviceGetCount":
		return Number(0, 1), nil
	case "cuDeviceGetAttribute", "cuFuncGetAttribute":
		return Number(0, 1024), nil
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

// make returns a new handle or address. The first one is the handle of the only context.
func (d *Null) make(a loader.Args) uintptr {
	*(*uintptr)(a.Ptr(0)) = 1 + d.handles<<20
	d.handles++
	return 0
}

// hostMemory allocates memory that lives as long as the driver.
func (d *Null) hostMemory(a loader.Args) uintptr {
	m := make([]uint64, a.Uint64(1)/8+1)
	d.memory = append(d.memory, m)
	*(*unsafe.Pointer)(a.Ptr(0)) = unsafe.Pointer(&m[0])
	return 0
}

// Number returns a function that stores v at the address in its argument i.
func Number(i int, v int32) loader.Proc {
	return loader.FuncProc(func(a loader.Args) uintptr {
		*(*int32)(unsafe.Pointer(a.Ptr(i))) = v
		return 0
	})
}

// NullCapture is a Null that also has host memory and ends captures.
type NullCapture struct {
	Null
	host [][]byte
}

func (d *NullCapture) Lookup(symbol string) (loader.Proc, error) {
	switch symbol {
	case "cuMemHostAlloc":
		return loader.FuncProc(func(a loader.Args) uintptr {
			m := make([]byte, a.Word(1))
			d.host = append(d.host, m)
			*(*unsafe.Pointer)(a.Ptr(0)) = unsafe.Pointer(&m[0])
			return 0
		}), nil
	case "cuStreamEndCapture":
		return loader.FuncProc(func(a loader.Args) uintptr {
			*(*uintptr)(a.Ptr(1)) = 7
			return 0
		}), nil
	}
	return d.Null.Lookup(symbol)
}
