package driver

import (
	"encoding/hex"
	"fmt"
	"iter"
	"strings"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
)

// Device is one GPU of a [Driver]. It is comparable and need not be closed.
type Device struct {
	driver  *Driver
	ordinal int
	raw     cu.CUdevice
}

// DeviceCount returns the number of devices that CUDA_VISIBLE_DEVICES allows.
func (d *Driver) DeviceCount() (int, error) {
	if !d.exists() {
		return 0, absentError(d == nil, "driver")
	}
	var n int32
	err := d.CuDeviceGetCount(&n)
	return int(n), err
}

// Device returns the device with the given ordinal, which starts at 0. If there is no such device,
// the error is CUDA_ERROR_INVALID_DEVICE.
func (d *Driver) Device(ordinal int) (Device, error) {
	if !d.exists() {
		return Device{}, absentError(d == nil, "driver")
	}
	if int(int32(ordinal)) != ordinal {
		return Device{}, fmt.Errorf("device %d: %w", ordinal, CUDA_ERROR_INVALID_DEVICE)
	}
	dev := Device{driver: d, ordinal: ordinal}
	if err := d.CuDeviceGet(&dev.raw, int32(ordinal)); err != nil {
		return Device{}, fmt.Errorf("device %d: %w", ordinal, err)
	}
	return dev, nil
}

// Devices yields the devices by ascending ordinal. If a device cannot be queried, Devices yields a
// zero Device with the error and stops.
func (d *Driver) Devices() iter.Seq2[Device, error] {
	return func(yield func(Device, error) bool) {
		n, err := d.DeviceCount()
		if err != nil {
			yield(Device{}, err)
			return
		}
		for i := range n {
			dev, err := d.Device(i)
			if !yield(dev, err) || err != nil {
				return
			}
		}
	}
}

// Driver returns the driver that the device belongs to.
func (dev Device) Driver() *Driver { return dev.driver }

// Ordinal returns the device's number. It can differ in other processes.
func (dev Device) Ordinal() int { return dev.ordinal }

// Raw returns the driver's handle.
func (dev Device) Raw() cu.CUdevice { return dev.raw }

// String returns the ordinal as text. For the product name, use Name.
func (dev Device) String() string {
	if dev.driver == nil {
		return "no device"
	}
	return fmt.Sprintf("device %d", dev.ordinal)
}

func (dev Device) check() error {
	if dev.driver == nil {
		k := absent.Kind{Name: "device", Make: "Driver.Device or Driver.Devices", Code: CUDA_ERROR_INVALID_DEVICE}
		return k.Error(false)
	}
	return nil
}

// sameDriver rejects a device that belongs to another driver, because this driver cannot use its
// handle.
func (dev Device) sameDriver(o Device) error {
	if dev.driver.core == o.driver.core {
		return nil
	}
	return invalidf("%v belongs to another driver (%s)", o, o.driver.Library().Name())
}

func (dev Device) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v: %w", dev, err)
}

// Name returns the device's product name.
func (dev Device) Name() (string, error) {
	if err := dev.check(); err != nil {
		return "", err
	}
	var name [256]byte
	if err := dev.driver.CuDeviceGetName(&name[0], int32(len(name)), dev.raw); err != nil {
		return "", dev.named(err)
	}
	return cString(name[:]), nil
}

// UUID returns an identifier that does not depend on the process or the order of the devices. On a
// MIG partition it identifies the partition.
func (dev Device) UUID() (UUID, error) {
	if err := dev.check(); err != nil {
		return UUID{}, err
	}
	var raw cu.CUuuid
	if err := dev.driver.CuDeviceGetUuid(&raw, dev.raw); err != nil {
		return UUID{}, dev.named(err)
	}
	return uuidOf(raw), nil
}

// TotalMem returns the device's memory in bytes. See also [Context.MemInfo].
func (dev Device) TotalMem() (uint64, error) {
	if err := dev.check(); err != nil {
		return 0, err
	}
	var n uintptr
	err := dev.driver.CuDeviceTotalMem(&n, dev.raw)
	return uint64(n), dev.named(err)
}

// Attribute returns one attribute of the device.
func (dev Device) Attribute(a cu.CUdevice_attribute) (int, error) {
	if err := dev.check(); err != nil {
		return 0, err
	}
	var v int32
	if err := dev.driver.CuDeviceGetAttribute(&v, a, dev.raw); err != nil {
		return 0, fmt.Errorf("%v: attribute %v: %w", dev, a, err)
	}
	return int(v), nil
}

// ComputeCapability returns the compute capability: 9 and 0 for sm_90.
func (dev Device) ComputeCapability() (major, minor int, err error) {
	major, err = dev.Attribute(cu.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
	if err != nil {
		return 0, 0, err
	}
	minor, err = dev.Attribute(cu.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
	return major, minor, err
}

// PCIBusID returns the device's PCI address, for example "0000:4e:00.0".
func (dev Device) PCIBusID() (string, error) {
	if err := dev.check(); err != nil {
		return "", err
	}
	var id [32]byte
	if err := dev.driver.CuDeviceGetPCIBusId(&id[0], int32(len(id)), dev.raw); err != nil {
		return "", dev.named(err)
	}
	return cString(id[:]), nil
}

// cString returns the text before the first NUL, or all of b if there is none.
func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// Properties holds the most common attributes of a device. Sizes are in bytes. Device.Attribute
// returns any other attribute.
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
	RegistersPerBlock           int    // 32-bit registers
	RegistersPerMultiprocessor  int

	SharedMemPerBlock          int // default limit, in bytes
	SharedMemPerBlockOptin     int // limit in bytes after opting in for a kernel
	SharedMemPerMultiprocessor int
	ReservedSharedMemPerBlock  int
	ConstantMem                int
	L2Cache                    int
	MaxPersistingL2Cache       int // largest part of L2Cache that persisting lines can use

	ClockKHz, MemoryClockKHz int
	MemoryBusBits            int
	AsyncEngines             int // number of copies that can run concurrently with kernels

	Integrated            bool // shares memory with the host (Jetson)
	UnifiedAddressing     bool // host and device share one address space
	ManagedMemory         bool
	ConcurrentManaged     bool // host and device may access managed memory concurrently
	ConcurrentKernels     bool
	CooperativeLaunch     bool // supports LaunchConfig.Cooperative
	ClusterLaunch         bool // supports LaunchConfig.Cluster
	MemoryPools           bool // supports stream-ordered allocation
	StreamPriorities      bool
	CanMapHostMemory      bool // supports HostBuffer.Device
	ECC                   bool
	ComputePreemption     bool
	PageableMemoryAccess  bool // kernels can access host memory that is not page-locked
	HostRegisterSupported bool
}

// Properties queries the device's properties. Unknown properties are zero.
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

// SM returns the compute capability as a single number: 90 for 9.0.
func (p Properties) SM() int { return p.ComputeMajor*10 + p.ComputeMinor }

// String returns a one-line description for a log.
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

// read stores an attribute in *to. If the driver is older than the attribute and returns
// CUDA_ERROR_INVALID_VALUE, read leaves *to unchanged.
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

// UUID identifies a GPU or a MIG partition.
type UUID [16]byte

func uuidOf(raw cu.CUuuid) UUID { return raw.Bytes }

// String returns the UUID in the form that nvidia-smi and CUDA_VISIBLE_DEVICES use, with the prefix
// "GPU-", even for a MIG partition.
func (u UUID) String() string {
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// ParseUUID parses the result of String. The prefix may be MIG- or absent.
func ParseUUID(s string) (UUID, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "GPU-"), "MIG-")
	b, err := hex.DecodeString(strings.ReplaceAll(digits, "-", ""))
	if err != nil || len(b) != len(UUID{}) {
		return UUID{}, fmt.Errorf("%q is not a device UUID, expected GPU- and 32 hexadecimal digits in groups of 8-4-4-4-12", s)
	}
	return UUID(b), nil
}

// DeviceByUUID returns the device with the given identifier.
func (d *Driver) DeviceByUUID(u UUID) (Device, error) {
	for dev, err := range d.Devices() {
		if err != nil {
			return Device{}, err
		}
		have, err := dev.UUID()
		if err != nil {
			return Device{}, err
		}
		if have == u {
			return dev, nil
		}
	}
	return Device{}, fmt.Errorf("no visible device has UUID %v: %w", u, CUDA_ERROR_INVALID_DEVICE)
}
