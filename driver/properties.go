package driver

import (
	"fmt"

	"github.com/purecuda/cuda/driver/cu"
)

// Properties are the commonly needed attributes of a device. For the others, use Device.Attribute.
// Memory sizes are in bytes.
type Properties struct {
	Name     string
	UUID     UUID
	PCIBusID string

	ComputeMajor, ComputeMinor int
	TotalMem                   uint64 // bytes

	Multiprocessors             int
	WarpSize                    int
	MaxThreadsPerBlock          int
	MaxThreadsPerMultiprocessor int
	MaxBlocksPerMultiprocessor  int
	MaxBlock, MaxGrid           [3]int // x, y, z
	RegistersPerBlock           int    // of 32 bits
	RegistersPerMultiprocessor  int

	SharedMemPerBlock          int // bytes, without opting in
	SharedMemPerBlockOptin     int // bytes, after raising the kernel's limit
	SharedMemPerMultiprocessor int
	ReservedSharedMemPerBlock  int
	ConstantMem                int
	L2Cache                    int
	MaxPersistingL2Cache       int // of L2Cache, for lines that are kept

	ClockKHz, MemoryClockKHz int
	MemoryBusBits            int
	AsyncEngines             int // copies that can run beside kernels, at the same time

	Integrated            bool // shares memory with the host (Jetson)
	UnifiedAddressing     bool // host and device share one address space
	ManagedMemory         bool
	ConcurrentManaged     bool // host and device may use managed memory at the same time
	ConcurrentKernels     bool
	CooperativeLaunch     bool // LaunchConfig.Cooperative
	ClusterLaunch         bool // LaunchConfig.Cluster
	MemoryPools           bool // stream-ordered allocation
	StreamPriorities      bool
	CanMapHostMemory      bool // HostBuffer.Device
	ECC                   bool
	ComputePreemption     bool
	PageableMemoryAccess  bool // kernels reach memory that is not page-locked
	HostRegisterSupported bool
}

// Properties reads the device's properties. Attributes that the installed driver does not know yet
// are zero.
func (dev Device) Properties() (Properties, error) {
	var p Properties
	if err := dev.check(); err != nil {
		return p, err
	}
	if err := p.identify(dev); err != nil {
		return Properties{}, err
	}
	for _, n := range p.numbers() {
		if err := dev.read(n.attr, n.to); err != nil {
			return Properties{}, err
		}
	}
	for _, f := range p.flags() {
		var v int
		if err := dev.read(f.attr, &v); err != nil {
			return Properties{}, err
		}
		*f.to = v != 0
	}
	return p, nil
}

// SM returns the architecture as ptxas names it: 90 for compute capability 9.0.
func (p Properties) SM() int { return p.ComputeMajor*10 + p.ComputeMinor }

// String returns one line for a log.
func (p Properties) String() string {
	return fmt.Sprintf("%s, sm_%d, %d multiprocessors, %.1f GiB", p.Name, p.SM(),
		p.Multiprocessors, float64(p.TotalMem)/(1<<30))
}

func (p *Properties) identify(dev Device) (err error) {
	if p.Name, err = dev.Name(); err != nil {
		return err
	}
	if p.UUID, err = dev.UUID(); err != nil {
		return err
	}
	if p.PCIBusID, err = dev.PCIBusID(); err != nil {
		return err
	}
	p.TotalMem, err = dev.TotalMem()
	return err
}

// read reads an attribute. A driver older than the attribute returns invalid value, and *to keeps
// its value.
func (dev Device) read(a cu.CUdevice_attribute, to *int) error {
	v, err := dev.Attribute(a)
	if isResult(err, CUDA_ERROR_INVALID_VALUE) {
		return nil
	}
	if err != nil {
		return err
	}
	*to = v
	return nil
}

type number struct {
	attr cu.CUdevice_attribute
	to   *int
}

type flag struct {
	attr cu.CUdevice_attribute
	to   *bool
}

func (p *Properties) numbers() []number {
	return []number{
		{cu.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &p.ComputeMajor},
		{cu.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &p.ComputeMinor},
		{cu.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &p.Multiprocessors},
		{cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, &p.WarpSize},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &p.MaxThreadsPerBlock},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &p.MaxThreadsPerMultiprocessor},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &p.MaxBlocksPerMultiprocessor},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &p.MaxBlock[0]},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, &p.MaxBlock[1]},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, &p.MaxBlock[2]},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &p.MaxGrid[0]},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, &p.MaxGrid[1]},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, &p.MaxGrid[2]},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, &p.RegistersPerBlock},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &p.RegistersPerMultiprocessor},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &p.SharedMemPerBlock},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &p.SharedMemPerBlockOptin},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &p.SharedMemPerMultiprocessor},
		{cu.CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, &p.ReservedSharedMemPerBlock},
		{cu.CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, &p.ConstantMem},
		{cu.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &p.L2Cache},
		{cu.CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, &p.MaxPersistingL2Cache},
		{cu.CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &p.ClockKHz},
		{cu.CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &p.MemoryClockKHz},
		{cu.CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &p.MemoryBusBits},
		{cu.CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, &p.AsyncEngines},
	}
}

func (p *Properties) flags() []flag {
	return []flag{
		{cu.CU_DEVICE_ATTRIBUTE_INTEGRATED, &p.Integrated},
		{cu.CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, &p.UnifiedAddressing},
		{cu.CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, &p.ManagedMemory},
		{cu.CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, &p.ConcurrentManaged},
		{cu.CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, &p.ConcurrentKernels},
		{cu.CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, &p.CooperativeLaunch},
		{cu.CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, &p.ClusterLaunch},
		{cu.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, &p.MemoryPools},
		{cu.CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, &p.StreamPriorities},
		{cu.CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, &p.CanMapHostMemory},
		{cu.CU_DEVICE_ATTRIBUTE_ECC_ENABLED, &p.ECC},
		{cu.CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, &p.ComputePreemption},
		{cu.CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, &p.PageableMemoryAccess},
		{cu.CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, &p.HostRegisterSupported},
	}
}
