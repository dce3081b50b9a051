package emulator_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// mapped returns physical memory that is mapped at an address, without access.
func (r *rig) mapped() (p cu.CUdeviceptr, size uintptr) {
	r.t.Helper()
	prop := cu.CUmemAllocationProp{Type: cu.CU_MEM_ALLOCATION_TYPE_PINNED}
	prop.Location.Type = cu.CU_MEM_LOCATION_TYPE_DEVICE
	r.ok(r.CuMemGetAllocationGranularity(&size, &prop, cu.CU_MEM_ALLOC_GRANULARITY_MINIMUM))
	var h cu.CUmemGenericAllocationHandle
	r.ok(r.CuMemCreate(&h, size, &prop, 0))
	r.ok(r.CuMemAddressReserve(&p, size, 0, 0, 0))
	r.ok(r.CuMemMap(p, size, 0, h, 0))
	r.ok(r.CuMemRelease(h))
	r.t.Cleanup(func() { r.CuMemUnmap(p, size); r.CuMemAddressFree(p, size) })
	return p, size
}

func (r *rig) allow(p cu.CUdeviceptr, size uintptr, how cu.CUmemAccess_flags) {
	r.t.Helper()
	d := cu.CUmemAccessDesc{Flags: how}
	d.Location.Type = cu.CU_MEM_LOCATION_TYPE_DEVICE
	r.ok(r.CuMemSetAccess(p, size, &d, 1))
}

func TestKernelsReachWhatIsMapped(t *testing.T) {
	r := newRig(t)
	p, size := r.mapped()
	r.allow(p, size, cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
	last := p + cu.CUdeviceptr(size) - 4
	r.ok(r.CuMemsetD32(last, 30, 1))
	r.ok(r.launch(r.kernel("add"), 0, last, 0, 12))
	r.ok(r.CuCtxSynchronize())
	var got uint32
	r.ok(r.CuMemcpyDtoH(unsafe.Pointer(&got), last, 4))
	if got != 42 {
		t.Errorf("got %d", got)
	}
}

// A list with an invalid entry changes nothing.
func TestAccessIsSetAsAWhole(t *testing.T) {
	r := newRig(t)
	p, size := r.mapped()
	var list [2]cu.CUmemAccessDesc
	for i := range list {
		list[i].Flags = cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
		list[i].Location.Type = cu.CU_MEM_LOCATION_TYPE_DEVICE
	}
	list[1].Location.Id = 99
	if code(r.CuMemSetAccess(p, size, &list[0], 2)) == 0 {
		t.Error("there is a device 99")
	}
	var flags uint64
	r.ok(r.CuMemGetAccess(&flags, &list[0].Location, p))
	if flags != uint64(cu.CU_MEM_ACCESS_FLAGS_PROT_NONE) {
		t.Errorf("access %d after a call that failed", flags)
	}
}

func TestKernelsDoNotReachWhatIsNotMapped(t *testing.T) {
	if onGPU {
		t.Skip("a fault ends a driver's context")
	}
	for what, change := range map[string]func(r *rig, p cu.CUdeviceptr, size uintptr){
		"without access":   func(*rig, cu.CUdeviceptr, uintptr) {},
		"to read only":     func(r *rig, p cu.CUdeviceptr, n uintptr) { r.allow(p, n, cu.CU_MEM_ACCESS_FLAGS_PROT_READ) },
		"without a memory": func(r *rig, p cu.CUdeviceptr, n uintptr) { r.ok(r.CuMemUnmap(p, n)) },
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			r.forgive = true
			p, size := r.mapped()
			change(r, p, size)
			r.ok(r.launch(r.kernel("add"), 0, p, 0, 1))
			if c := code(r.CuCtxSynchronize()); c != cu.CUDA_ERROR_ILLEGAL_ADDRESS {
				t.Errorf("got %v", c)
			}
			if f := r.emu.LastFault(); !strings.Contains(f, "kernel add") {
				t.Errorf("report: %s", f)
			}
		})
	}
}
