//go:build !purecuda_syscall && (amd64 || arm64)

package cu_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// The tag purecuda_syscall excludes this test, because argument blocks escape to the heap with that
// tag.
func TestCallsDoNotAllocate(t *testing.T) {
	d := rawDriver(t, &rawLibrary{})
	notReady := rawFailing(t, cu.CUDA_ERROR_NOT_READY)
	var (
		p       cu.CUdeviceptr
		node    cu.CUgraphNode
		ptrs    [4]unsafe.Pointer
		config  cu.CUlaunchConfig
		params  cu.CUDA_KERNEL_NODE_PARAMS
		memory  cu.CUipcMemHandle
		queries int
	)
	for name, call := range map[string]func() error{
		"cuMemAlloc":           func() error { return d.CuMemAlloc(&p, 4096) },
		"cuMemcpyHtoDAsync":    func() error { return d.CuMemcpyHtoDAsync(p, unsafe.Pointer(&ptrs), 8, 1) },
		"cuLaunchKernel":       func() error { return d.CuLaunchKernel(1, 1, 1, 1, 32, 1, 1, 0, 1, &ptrs[0], nil) },
		"cuLaunchKernelEx":     func() error { return d.CuLaunchKernelEx(&config, 1, &ptrs[0], nil) },
		"cuGraphAddKernelNode": func() error { return d.CuGraphAddKernelNode(&node, 1, nil, 0, &params) },
		"cuGraphLaunch":        func() error { return d.CuGraphLaunch(1, 1) },
		"cuEventRecord":        func() error { return d.CuEventRecord(1, 1) },
		"cuMemAdvise":          func() error { return d.CuMemAdvise(p, 1, 1, cu.CUmemLocation{}) },
		"cuIpcOpenMemHandle":   func() error { return d.CuIpcOpenMemHandle(&p, memory, 1) },
		"cuTexRefSetMipmapLevelBias": func() error {
			return d.CuTexRefSetMipmapLevelBias(1, 2)
		},
		"cuStreamQuery, not ready": func() error { return rawExpectNotReady(notReady.CuStreamQuery(1), &queries) },
		"cuEventQuery, not ready":  func() error { return rawExpectNotReady(notReady.CuEventQuery(1), &queries) },
	} {
		var failure error
		n := testing.AllocsPerRun(100, func() {
			if err := call(); err != nil {
				failure = err
			}
		})
		if n != 0 || failure != nil {
			t.Errorf("%s: %v allocations, error %v", name, n, failure)
		}
	}
	if queries != 2*101 {
		t.Errorf("%d queries were not ready", queries)
	}
}

func rawExpectNotReady(err error, n *int) error {
	if e, ok := err.(*cu.Error); ok && e.Result == cu.CUDA_ERROR_NOT_READY { // errors.As would allocate
		*n++
		return nil
	}
	return err
}
