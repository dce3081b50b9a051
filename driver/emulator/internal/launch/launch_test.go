package launch_test

import (
	"bytes"
	"runtime"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/launch"
	"github.com/purecuda/cuda/driver/emulator/internal/spec"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/ptx"
)

const text = `
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 a, .param .u64 b)
{
	.shared .align 4 .b8 buf[1024];
	.reg .b32 %r;
	mov.u32 %r, buf;
	ret;
}
`

func newFunction(t *testing.T, memory uint64) *launch.Function {
	t.Helper()
	parsed, err := ptx.Parse("k.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	mem := vm.NewMemory()
	m, err := vm.Compile(vm.CompileOptions{Memory: mem, ComputeCapability: 90, MemoryLimit: 1 << 30}, parsed)
	if err != nil {
		t.Fatal(err)
	}
	k, ok := m.Kernel("k")
	if !ok {
		t.Fatal("the module has no kernel k")
	}
	f := launch.New(k, k.Attributes(), spec.Device{Capability: [2]int{9, 0}, Multiprocessors: 132}, memory)
	return &f
}

func dim(x, y, z uint32) vm.Dim3 { return vm.Dim3{X: x, Y: y, Z: z} }

func TestCheckRejectsWhatADriverRejects(t *testing.T) {
	f := newFunction(t, 1<<30)
	tests := []struct {
		name        string
		grid, block vm.Dim3
		shared      uint32
		attrs       launch.Attributes
		want        cu.CUresult
	}{
		{name: "valid", grid: dim(1, 1, 1), block: dim(32, 1, 1)},
		{name: "empty grid", grid: dim(1, 0, 1), block: dim(32, 1, 1), want: cu.CUDA_ERROR_INVALID_VALUE},
		{name: "high grid", grid: dim(1, 65536, 1), block: dim(32, 1, 1), want: cu.CUDA_ERROR_INVALID_VALUE},
		{name: "large block", grid: dim(1, 1, 1), block: dim(32, 33, 1), want: cu.CUDA_ERROR_INVALID_VALUE},
		{name: "deep block", grid: dim(1, 1, 1), block: dim(1, 1, 65), want: cu.CUDA_ERROR_INVALID_VALUE},
		{name: "shared memory", grid: dim(1, 1, 1), block: dim(32, 1, 1), shared: 48 << 10, want: cu.CUDA_ERROR_INVALID_VALUE},
		{name: "clusters", grid: dim(8, 1, 1), block: dim(32, 1, 1), attrs: launch.Attributes{Cluster: dim(8, 1, 1)}},
		{name: "large cluster", grid: dim(16, 1, 1), block: dim(32, 1, 1), attrs: launch.Attributes{Cluster: dim(16, 1, 1)},
			want: cu.CUDA_ERROR_INVALID_CLUSTER_SIZE},
		{name: "part of a cluster", grid: dim(9, 1, 1), block: dim(32, 1, 1), attrs: launch.Attributes{Cluster: dim(8, 1, 1)},
			want: cu.CUDA_ERROR_INVALID_CLUSTER_SIZE},
		{name: "cooperative", grid: dim(264, 1, 1), block: dim(1024, 1, 1), attrs: launch.Attributes{Cooperative: 1}},
		{name: "too many cooperative blocks", grid: dim(265, 1, 1), block: dim(1024, 1, 1), attrs: launch.Attributes{Cooperative: 1},
			want: cu.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE},
	}
	for _, test := range tests {
		l := launch.Launch{Function: f, Grid: test.grid, Block: test.block, Shared: test.shared, Attrs: test.attrs}
		if r := l.Check(); r != test.want {
			t.Errorf("%s: %v, want %v", test.name, r, test.want)
		}
	}
	l := launch.Launch{Function: newFunction(t, 1000), Grid: dim(1, 1, 1), Block: dim(32, 1, 1)}
	if r := l.Check(); r != cu.CUDA_ERROR_OUT_OF_MEMORY {
		t.Errorf("on a device without memory for one block: %v", r)
	}
}

func TestAttributesOfAFunction(t *testing.T) {
	f := newFunction(t, 1<<30)
	dynamic := cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
	if v, r := f.Attribute(dynamic); v != 47<<10 || r != cu.CUDA_SUCCESS {
		t.Errorf("%d bytes of dynamic shared memory: %v", v, r)
	}
	if r := f.SetAttribute(dynamic, 227<<10); r != cu.CUDA_ERROR_INVALID_VALUE {
		t.Errorf("static and dynamic shared memory of more than the device has: %v", r)
	}
	for a, v := range map[cu.CUfunction_attribute]int32{
		dynamic: 226 << 10,
		cu.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: 1,
		cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:            16,
		cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:           1,
		cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:            1,
	} {
		if r := f.SetAttribute(a, v); r != cu.CUDA_SUCCESS {
			t.Errorf("attribute %v: %v", a, r)
		}
		if got, r := f.Attribute(a); got != v || r != cu.CUDA_SUCCESS {
			t.Errorf("attribute %v is %d, %v, want %d", a, got, r, v)
		}
	}
	l := launch.Launch{Function: f, Grid: dim(16, 1, 1), Block: dim(32, 1, 1), Shared: 226 << 10}
	if r := l.Check(); r != cu.CUDA_SUCCESS || l.Cluster() != dim(16, 1, 1) {
		t.Errorf("the launch has clusters of %v: %v", l.Cluster(), r)
	}
	if n, r := f.LargestCluster(); n != 16 || r != cu.CUDA_SUCCESS {
		t.Errorf("clusters of %d blocks: %v", n, r)
	}
	if n, r := l.ActiveClusters(false); n != 132/16 || r != cu.CUDA_SUCCESS {
		t.Errorf("%d clusters: %v", n, r)
	}
}

func TestOccupancy(t *testing.T) {
	f := newFunction(t, 1<<30)
	if threads, blocks := f.BestBlock(1024, func(int) uint64 { return 0 }); threads != 1024 || blocks != 2*132 {
		t.Errorf("%d blocks of %d threads", blocks, threads)
	}
	// With 300 bytes of shared memory per thread, there is room for one block of at most 771
	// threads.
	most := func(threads int) uint64 { return uint64(threads) * 300 }
	if threads, blocks := f.BestBlock(1024, most); threads != 768 || blocks != 132 {
		t.Errorf("with shared memory: %d blocks of %d threads", blocks, threads)
	}
	if free, r := f.FreeShared(8, 256); free != 28160 || r != cu.CUDA_SUCCESS {
		t.Errorf("%d free bytes: %v", free, r)
	}
	if _, r := f.FreeShared(9, 256); r != cu.CUDA_ERROR_INVALID_VALUE {
		t.Errorf("more blocks than are resident: %v", r)
	}
}

// Arguments must accept either a pointer for each parameter or one buffer, but not both.
func TestArguments(t *testing.T) {
	f := newFunction(t, 1<<30)
	a, b := uint32(7), uint64(9)
	want := []byte{7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}
	params := []unsafe.Pointer{unsafe.Pointer(&a), unsafe.Pointer(&b)}
	size := uintptr(len(want))
	var pin runtime.Pinner
	pin.Pin(&want[0])
	pin.Pin(&size)
	defer pin.Unpin()
	// The keys are numbers stored as pointers, so the list is an array of words.
	extra := [...]uintptr{cu.CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT, uintptr(unsafe.Pointer(&want[0])),
		cu.CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT, uintptr(unsafe.Pointer(&size)), cu.CU_LAUNCH_PARAM_END_AS_INT, 0}
	list := (*unsafe.Pointer)(unsafe.Pointer(&extra))
	if got, r := f.Arguments(&params[0], nil); r != cu.CUDA_SUCCESS || !bytes.Equal(got, want) {
		t.Errorf("from pointers: %v, %v", got, r)
	}
	if got, r := f.Arguments(nil, list); r != cu.CUDA_SUCCESS || !bytes.Equal(got, want) {
		t.Errorf("from a buffer: %v, %v", got, r)
	}
	if _, r := f.Arguments(&params[0], list); r != cu.CUDA_ERROR_INVALID_VALUE {
		t.Errorf("from both: %v", r)
	}
	if _, r := f.Arguments(nil, nil); r != cu.CUDA_ERROR_INVALID_VALUE {
		t.Errorf("from neither: %v", r)
	}
	params[1] = nil
	if _, r := f.Arguments(&params[0], nil); r != cu.CUDA_ERROR_INVALID_VALUE {
		t.Errorf("with a nil pointer: %v", r)
	}
}

func TestCopiesOfLaunchAttributesAreIndependent(t *testing.T) {
	no := func(uintptr) bool { return false }
	domain := cu.CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN
	var v cu.CUlaunchAttributeValue
	var a launch.Attributes
	*v.MemSyncDomain() = cu.CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE
	if r := a.Set(domain, &v, no); r != cu.CUDA_SUCCESS {
		t.Fatal(r)
	}
	b := a
	*v.MemSyncDomain() = cu.CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT
	if r := b.Set(domain, &v, no); r != cu.CUDA_SUCCESS {
		t.Fatal(r)
	}
	if r := a.Get(domain, &v); r != cu.CUDA_SUCCESS || *v.MemSyncDomain() != cu.CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE {
		t.Errorf("a copy changed the original to %v: %v", *v.MemSyncDomain(), r)
	}
	if r := a.Set(cu.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, &v, no); r != cu.CUDA_ERROR_INVALID_HANDLE || a.AtStart != 0 {
		t.Errorf("an event that does not exist: %v", r)
	}
	if r := a.Get(cu.CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &v); r != cu.CUDA_ERROR_INVALID_VALUE {
		t.Errorf("an attribute that is not stored: %v", r)
	}
}

func TestCooperativeIsOnOrOff(t *testing.T) {
	var a launch.Attributes
	for value, want := range map[int32]cu.CUresult{-1: cu.CUDA_ERROR_INVALID_VALUE, 0: cu.CUDA_SUCCESS, 1: cu.CUDA_SUCCESS, 2: cu.CUDA_ERROR_INVALID_VALUE} {
		var v cu.CUlaunchAttributeValue
		*v.Cooperative() = value
		if r := a.Set(cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v, nil); r != want || r == cu.CUDA_SUCCESS && a.Cooperative != value {
			t.Errorf("cooperative %d: %v, stored %d", value, r, a.Cooperative)
		}
	}
}

func TestAttributesOfAStream(t *testing.T) {
	var a, b launch.Stream
	var v cu.CUlaunchAttributeValue
	*v.Priority() = -100
	if r := a.Set(cu.CU_LAUNCH_ATTRIBUTE_PRIORITY, &v); r != cu.CUDA_SUCCESS || a.Priority != launch.GreatestPriority {
		t.Errorf("priority %d: %v", a.Priority, r)
	}
	v = cu.CUlaunchAttributeValue{}
	*v.SyncPolicy() = cu.CU_SYNC_POLICY_YIELD
	if r := a.Set(cu.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v); r != cu.CUDA_SUCCESS {
		t.Error(r)
	}
	*v.SyncPolicy() = cu.CU_SYNC_POLICY_BLOCKING_SYNC + 1
	if r := a.Set(cu.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v); r != cu.CUDA_ERROR_INVALID_VALUE {
		t.Errorf("an unknown policy: %v", r)
	}
	b.CopyFrom(&a)
	r := b.Get(cu.CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v)
	if r != cu.CUDA_SUCCESS || *v.SyncPolicy() != cu.CU_SYNC_POLICY_YIELD || b.Priority != 0 {
		t.Errorf("the copy has policy %v and priority %d: %v", *v.SyncPolicy(), b.Priority, r)
	}
	if r := b.Get(cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v); r != cu.CUDA_ERROR_INVALID_VALUE {
		t.Errorf("an attribute that streams lack: %v", r)
	}
}
