package driver

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
)

// KernelInfo is what the compiler decided about a kernel. For other properties use
// Kernel.Attribute.
type KernelInfo struct {
	Registers          int // per thread
	MaxThreadsPerBlock int // limit by registers and .maxntid
	SharedStatic       int // shared memory that the kernel declares, in bytes
	MaxSharedDynamic   int // bytes that a launch may add; Prepare raises it
	Local              int // local memory per thread, in bytes
	Const              int // constant memory, in bytes
	PTXVersion         int // 80 for PTX of version 8.0
	BinaryVersion      int // 90 for code for sm_90
	ClusterRequired    bool
	RequiredCluster    Dim3 // zero unless the code fixes it
	NonPortableCluster bool // clusters of more than 8 blocks are allowed
}

// Info returns what the compiler decided about the kernel. The first call loads the kernel. Later
// calls cost nothing.
func (k *Kernel) Info() (KernelInfo, error) {
	if err := k.check(); err != nil {
		return KernelInfo{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.readInfo(); err != nil {
		return KernelInfo{}, err
	}
	return *k.info, nil
}

// readInfo fills k.info; the caller holds k.mu.
func (k *Kernel) readInfo() error {
	if k.info != nil {
		return nil
	}
	if err := k.load(k.code.ctx.Guarded()); err != nil {
		return fmt.Errorf("cannot load %v: %w", k, err)
	}
	info := new(KernelInfo)
	if err := info.read(k.code.ctx.Driver(), k.raw); err != nil {
		return fmt.Errorf("attributes of %v: %w", k, err)
	}
	k.info = info
	runtime.KeepAlive(k)
	return nil
}

// read queries the attributes. Those from ClusterRequired on came with CUDA 11.8. An older driver
// returns invalid value, and does not support clusters.
func (i *KernelInfo) read(d *Driver, f CUfunction) error {
	var must, x, y, z, nonPortable int
	for _, a := range []struct {
		attribute cu.CUfunction_attribute
		to        *int
	}{
		{cu.CU_FUNC_ATTRIBUTE_NUM_REGS, &i.Registers},
		{cu.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &i.MaxThreadsPerBlock},
		{cu.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &i.SharedStatic},
		{cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &i.MaxSharedDynamic},
		{cu.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &i.Local},
		{cu.CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &i.Const},
		{cu.CU_FUNC_ATTRIBUTE_PTX_VERSION, &i.PTXVersion},
		{cu.CU_FUNC_ATTRIBUTE_BINARY_VERSION, &i.BinaryVersion},
		{cu.CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &must},
		{cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &x},
		{cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &y},
		{cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &z},
		{cu.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &nonPortable},
	} {
		var v int32
		err := d.CuFuncGetAttribute(&v, a.attribute, f)
		if err != nil && (a.attribute < cu.CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET || !isResult(err, CUDA_ERROR_INVALID_VALUE)) {
			return fmt.Errorf("%v: %w", a.attribute, err)
		}
		*a.to = int(v)
	}
	i.ClusterRequired, i.NonPortableCluster = must != 0, nonPortable != 0
	i.RequiredCluster = Dim3{uint32(x), uint32(y), uint32(z)}
	return nil
}

// Attribute returns one attribute of the kernel.
func (k *Kernel) Attribute(a cu.CUfunction_attribute) (int, error) {
	if err := k.check(); err != nil {
		return 0, err
	}
	var v int32
	err := k.code.ctx.Driver().CuFuncGetAttribute(&v, a, k.raw)
	runtime.KeepAlive(k)
	if err != nil {
		return 0, fmt.Errorf("%v: attribute %v: %w", k, a, err)
	}
	return int(v), nil
}

// SetAttribute changes one attribute of the kernel, for all later launches. Prepare raises the
// limit of dynamic shared memory when needed.
func (k *Kernel) SetAttribute(a cu.CUfunction_attribute, v int) error {
	if err := k.check(); err != nil {
		return err
	}
	if int(int32(v)) != v {
		return invalidf("%v: attribute %v: %d does not fit 32 bits", k, a, v)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.code.ctx.Driver().CuFuncSetAttribute(k.raw, a, int32(v))
	runtime.KeepAlive(k)
	if err != nil {
		return fmt.Errorf("%v: attribute %v = %d: %w", k, a, v, err)
	}
	k.info = nil // read again
	return nil
}

// SetCacheConfig sets whether the kernel prefers shared memory or cache.
func (k *Kernel) SetCacheConfig(c cu.CUfunc_cache) error {
	if err := k.check(); err != nil {
		return err
	}
	err := k.code.ctx.Driver().CuFuncSetCacheConfig(k.raw, c)
	runtime.KeepAlive(k)
	if err != nil {
		return fmt.Errorf("%v: cache configuration %v: %w", k, c, err)
	}
	return nil
}
