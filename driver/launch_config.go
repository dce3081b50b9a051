package driver

import (
	"fmt"
	"math"

	"github.com/purecuda/cuda/driver/cu"
)

// LaunchConfig describes how to launch a kernel. Grid and Block are required.
type LaunchConfig struct {
	Grid      Dim3   // in blocks
	Block     Dim3   // in threads
	SharedMem uint32 // dynamic shared memory per block, in bytes

	Cooperative bool // all blocks are resident at the same time, so they can wait for each other
	// Cluster is the size of a cluster in blocks (compute capability 9.0). Zero selects the size
	// that the kernel was compiled for, if any.
	Cluster  Dim3
	Priority int // 0 means the stream's priority; lower numbers go first
	// Programmatic allows the kernel to start before the previous kernel in the stream has ended.
	// The kernel must execute griddepcontrol.wait before it reads the previous kernel's results
	// (programmatic dependent launch).
	Programmatic bool
	Attributes   []cu.CUlaunchAttribute // passed to the driver unchanged
}

// same reports whether c and o describe the same launch. It returns false if either of them has raw
// attributes.
func (c *LaunchConfig) same(o *LaunchConfig) bool {
	return c.Grid == o.Grid && c.Block == o.Block && c.SharedMem == o.SharedMem &&
		c.Cooperative == o.Cooperative && c.Cluster == o.Cluster && c.Priority == o.Priority &&
		c.Programmatic == o.Programmatic && c.Attributes == nil && o.Attributes == nil
}

func (c *LaunchConfig) plain() bool {
	return !c.Cooperative && c.Cluster.IsZero() && c.Priority == 0 && !c.Programmatic && c.Attributes == nil
}

func (c *LaunchConfig) attributes(list []cu.CUlaunchAttribute) []cu.CUlaunchAttribute {
	if c.Cooperative {
		a := cu.CUlaunchAttribute{Id: cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE}
		*a.Value.Cooperative() = 1
		list = append(list, a)
	}
	if !c.Cluster.IsZero() {
		a := cu.CUlaunchAttribute{Id: cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION}
		d := a.Value.ClusterDim()
		d.X, d.Y, d.Z = c.Cluster.X, c.Cluster.Y, c.Cluster.Z
		list = append(list, a)
	}
	if c.Priority != 0 {
		a := cu.CUlaunchAttribute{Id: cu.CU_LAUNCH_ATTRIBUTE_PRIORITY}
		*a.Value.Priority() = clamp32(c.Priority)
		list = append(list, a)
	}
	if c.Programmatic {
		a := cu.CUlaunchAttribute{Id: cu.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION}
		*a.Value.ProgrammaticStreamSerializationAllowed() = 1
		list = append(list, a)
	}
	return append(list, c.Attributes...)
}

// raw returns the configuration in the driver's form, without a stream. attrs must stay alive as
// long as the result is used.
func (c *LaunchConfig) raw(attrs []cu.CUlaunchAttribute) cu.CUlaunchConfig {
	r := cu.CUlaunchConfig{
		GridDimX: c.Grid.X, GridDimY: c.Grid.Y, GridDimZ: c.Grid.Z,
		BlockDimX: c.Block.X, BlockDimY: c.Block.Y, BlockDimZ: c.Block.Z,
		SharedMemBytes: c.SharedMem, NumAttrs: uint32(len(attrs)),
	}
	if len(attrs) > 0 {
		r.Attrs = &attrs[0]
	}
	return r
}

// Dim3 is the extent of a grid, a block or a cluster.
type Dim3 struct{ X, Y, Z uint32 }

// D1 returns n × 1 × 1. Launches reject the result if n is out of range.
func D1(n int) Dim3 { return Dim3{dim(n), 1, 1} }

// D2 returns x × y × 1.
func D2(x, y int) Dim3 { return Dim3{dim(x), dim(y), 1} }

// D3 returns x × y × z.
func D3(x, y, z int) Dim3 { return Dim3{dim(x), dim(y), dim(z)} }

// Blocks returns the smallest grid that has a thread for each of n elements. block is the number of
// threads per block. If n or block is not positive, the grid is empty, and launches reject it.
func Blocks(n, block int) Dim3 {
	if n <= 0 || block <= 0 {
		return Dim3{0, 1, 1}
	}
	return D1((n-1)/block + 1)
}

func dim(n int) uint32 {
	if n < 0 {
		return 0
	}
	return uint32(min(uint64(n), math.MaxUint32))
}

// Count returns the product of the dimensions.
func (d Dim3) Count() uint64 { return uint64(d.X) * uint64(d.Y) * uint64(d.Z) }

// IsZero reports whether all dimensions are 0.
func (d Dim3) IsZero() bool { return d == Dim3{} }

// String returns text such as "8×4×1".
func (d Dim3) String() string { return fmt.Sprintf("%d×%d×%d", d.X, d.Y, d.Z) }

func (d Dim3) axes() [3]uint32 { return [3]uint32{d.X, d.Y, d.Z} }

// deviceLimits holds the device attributes needed to check launches. Each program queries them
// once.
type deviceLimits struct {
	grid, block          [3]int
	threads              int
	shared, sharedOptin  int
	multiprocessors      int
	cooperative, cluster bool
}

// portableCluster is the largest cluster size, in blocks, that every device with clusters supports.
const portableCluster = 8

func (p *program) deviceLimits() (*deviceLimits, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limits != nil {
		return p.limits, nil
	}
	l := new(deviceLimits)
	if err := l.read(p.ctx.Device()); err != nil {
		return nil, err
	}
	p.limits = l
	return l, nil
}

func (l *deviceLimits) read(dev Device) error {
	var cooperative, cluster int
	for _, n := range []number{
		{cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &l.grid[0]},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, &l.grid[1]},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, &l.grid[2]},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &l.block[0]},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &l.block[1]},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &l.block[2]},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &l.threads},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &l.shared},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &l.sharedOptin},
		{cu.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &l.multiprocessors},
		{cu.CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, &cooperative},
		{cu.CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, &cluster},
	} {
		if err := dev.read(n.attr, n.to); err != nil {
			return err
		}
	}
	l.cooperative, l.cluster = cooperative != 0, cluster != 0
	l.sharedOptin = max(l.sharedOptin, l.shared)
	return nil
}

var axisNames = [3]string{"X", "Y", "Z"}

// checkDim returns an error unless each dimension of d is between 1 and its limit.
func checkDim(what string, d Dim3, limit [3]int) error {
	for i, n := range d.axes() {
		if n == 0 || uint64(n) > uint64(limit[i]) {
			return invalidf("%s dimension %s is %d, it must be 1 to %d", what, axisNames[i], n, limit[i])
		}
	}
	return nil
}

// checkConfig rejects configurations that the driver would reject. Its errors name the dimension or
// the limit concerned. If needed, checkConfig raises the kernel's limit of dynamic shared memory.
func (k *Kernel) checkConfig(cfg *LaunchConfig) error {
	l, err := k.code.deviceLimits()
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.readInfo(); err != nil {
		return err
	}
	if err := checkDim("grid", cfg.Grid, l.grid); err != nil {
		return err
	}
	if err := k.checkBlock(cfg.Block, l); err != nil {
		return err
	}
	if err := k.checkShared(cfg.SharedMem, l); err != nil {
		return err
	}
	if err := k.checkCluster(cfg, l); err != nil {
		return err
	}
	return k.checkCooperative(cfg, l)
}

func (k *Kernel) checkBlock(block Dim3, l *deviceLimits) error {
	if err := checkDim("block", block, l.block); err != nil {
		return err
	}
	n := block.Count()
	if n > uint64(l.threads) {
		return invalidf("a block of %v has %d threads, the device allows %d", block, n, l.threads)
	}
	if most := k.info.MaxThreadsPerBlock; most > 0 && n > uint64(most) {
		return invalidf("a block of %v has %d threads, the kernel allows %d (%d registers per thread, or its .maxntid)",
			block, n, most, k.info.Registers)
	}
	return k.checkRequired(block)
}

// checkRequired rejects a block whose size differs from the kernel's .reqntid, if it has one.
func (k *Kernel) checkRequired(block Dim3) error {
	if k.sig == nil || k.sig.ReqThreads == [3]int{} {
		return nil
	}
	want := D3(k.sig.ReqThreads[0], k.sig.ReqThreads[1], k.sig.ReqThreads[2])
	if block != want {
		return invalidf("a block of %v was requested, but the kernel is compiled for %v (.reqntid)", block, want)
	}
	return nil
}

// checkShared rejects more shared memory than a block can have. If needed, it raises the kernel's
// limit of dynamic shared memory.
func (k *Kernel) checkShared(bytes uint32, l *deviceLimits) error {
	total := uint64(bytes) + uint64(k.info.SharedStatic)
	if total > uint64(l.sharedOptin) {
		return invalidf("%d bytes of dynamic and %d of static shared memory are more than the %d that the device allows per block",
			bytes, k.info.SharedStatic, l.sharedOptin)
	}
	if uint64(bytes) <= uint64(k.info.MaxSharedDynamic) {
		return nil
	}
	err := k.code.ctx.Guarded().CuFuncSetAttribute(k.raw, cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int32(bytes))
	if err != nil {
		return fmt.Errorf("cannot raise the limit of dynamic shared memory from %d to %d bytes: %w", k.info.MaxSharedDynamic, bytes, err)
	}
	k.info.MaxSharedDynamic = int(bytes)
	return nil
}

func (k *Kernel) checkCluster(cfg *LaunchConfig, l *deviceLimits) error {
	if cfg.Cluster.IsZero() {
		if k.info.ClusterRequired && k.info.RequiredCluster.IsZero() {
			return invalidf("the kernel needs a cluster size, set LaunchConfig.Cluster")
		}
		return nil
	}
	if !l.cluster || !k.code.ctx.Driver().Has(cu.FnCuLaunchKernelEx) {
		return fmt.Errorf("clusters need compute capability 9.0 and CUDA 11.8: %w", ErrNotSupported)
	}
	if want := k.info.RequiredCluster; !want.IsZero() && want != cfg.Cluster {
		return invalidf("a cluster of %v was requested, but the kernel is compiled for %v", cfg.Cluster, want)
	}
	grid := cfg.Grid.axes()
	for i, n := range cfg.Cluster.axes() {
		if n == 0 || grid[i]%n != 0 {
			return invalidf("cluster dimension %s is %d, it must divide the grid's, which is %d", axisNames[i], n, grid[i])
		}
	}
	if n := cfg.Cluster.Count(); n > portableCluster && !k.info.NonPortableCluster {
		return invalidf("a cluster of %v has %d blocks; more than %d need CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED (Kernel.SetAttribute)",
			cfg.Cluster, n, portableCluster)
	}
	return nil
}

// checkCooperative checks that all blocks of the grid can be resident at once.
func (k *Kernel) checkCooperative(cfg *LaunchConfig, l *deviceLimits) error {
	if !cfg.Cooperative {
		return nil
	}
	if !l.cooperative {
		return fmt.Errorf("%v does not support cooperative launches: %w", k.code.ctx.Device(), ErrNotSupported)
	}
	perSM, err := k.activeBlocks(k.code.ctx.Guarded(), int(cfg.Block.Count()), uintptr(cfg.SharedMem))
	if err != nil {
		return err
	}
	if most := uint64(perSM) * uint64(l.multiprocessors); cfg.Grid.Count() > most {
		return invalidf("a cooperative grid of %v has %d blocks, but only %d fit the device at once (%d on each of %d multiprocessors)",
			cfg.Grid, cfg.Grid.Count(), most, perSM, l.multiprocessors)
	}
	return nil
}
