package emulator_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// readMostly queries one attribute of a range.
func (r *rig) readMostly(p cu.CUdeviceptr, size uintptr) (v int32) {
	r.t.Helper()
	r.ok(r.CuMemRangeGetAttribute(unsafe.Pointer(&v), 4, cu.CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, size))
	return v
}

func TestAdviceIsOfThePagesItWasGivenFor(t *testing.T) {
	r := newRig(t)
	const page, size = 2 << 20, 8 << 20
	var m cu.CUdeviceptr
	r.ok(r.CuMemAllocManaged(&m, size, uint32(cu.CU_MEM_ATTACH_GLOBAL)))
	defer r.CuMemFree(m)
	r.ok(r.CuMemAdvise(m+page, 2*page, cu.CU_MEM_ADVISE_SET_READ_MOSTLY, device0))
	r.ok(r.CuMemAdvise(m+2*page, page, cu.CU_MEM_ADVISE_UNSET_READ_MOSTLY, device0))
	for i, want := range []int32{0, 1, 0, 0} {
		if got := r.readMostly(m+cu.CUdeviceptr(i*page), page); got != want {
			t.Errorf("part %d: %d", i, got)
		}
	}
	if got := r.readMostly(m, size); got != 0 {
		t.Errorf("of all: %d", got)
	}
	r.ok(r.CuMemAdvise(m, size, cu.CU_MEM_ADVISE_SET_READ_MOSTLY, device0))
	if got := r.readMostly(m, size); got != 1 {
		t.Errorf("of all, advised: %d", got)
	}
}

func TestAPrefetchBreaksACapture(t *testing.T) {
	if onGPU {
		t.Skip("drivers were not asked")
	}
	r := newRig(t)
	var m cu.CUdeviceptr
	r.ok(r.CuMemAllocManaged(&m, 4096, uint32(cu.CU_MEM_ATTACH_GLOBAL)))
	defer r.CuMemFree(m)
	s := r.stream()
	r.ok(r.CuStreamBeginCapture(s, cu.CU_STREAM_CAPTURE_MODE_RELAXED))
	r.want("prefetch", r.CuMemPrefetchAsync(m, 4096, device0, 0, s), cu.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
	var g cu.CUgraph
	r.want("end", r.CuStreamEndCapture(s, &g), cu.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
}

// The second location applies to all ranges from its index on.
func TestABatchFetchesToItsLocations(t *testing.T) {
	r := newRig(t)
	const page = 2 << 20
	var m cu.CUdeviceptr
	r.ok(r.CuMemAllocManaged(&m, 3*page, uint32(cu.CU_MEM_ATTACH_GLOBAL)))
	defer r.CuMemFree(m)
	ptrs := [3]cu.CUdeviceptr{m, m + page, m + 2*page}
	sizes := [3]uintptr{page, page, page}
	locs, from := [2]cu.CUmemLocation{device0, host}, [2]uintptr{0, 1}
	r.ok(r.CuMemPrefetchBatchAsync(&ptrs[0], &sizes[0], 3, &locs[0], &from[0], 2, 0, r.stream()))
	r.settle()
	for i, want := range []int32{0, -1, -1} {
		var got int32
		r.ok(r.CuMemRangeGetAttribute(unsafe.Pointer(&got), 4, cu.CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, ptrs[i], page))
		if got != want {
			t.Errorf("range %d was fetched to %d, not to %d", i, got, want)
		}
	}
}
