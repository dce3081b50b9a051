package emulator

import (
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

type device struct {
	e       *Emulator
	ordinal int
	attrs   map[cu.CUdevice_attribute]int32

	primary      *cudaContext
	primaryFlags uint32
	primaryRefs  int
	contexts     []*cudaContext // those that are alive, the primary context included

	// fault is the error that ended a kernel. It is sticky and affects the whole device: a driver
	// returns it in all contexts, old and new, until the process ends.
	fault result

	used  uint64 // bytes allocated
	pools devicePools
	graph graphMemory
}

func newDevice(e *Emulator, ordinal int) *device {
	d := &device{e: e, ordinal: ordinal, attrs: e.spec().Attributes(ordinal)}
	d.primary = &cudaContext{e: e, dev: d, primary: true}
	d.primary.handle = e.register(d.primary)
	return d
}

var deviceFunctions = functions{
	"cuDeviceGet":                        {cuDeviceGet, afterInit},
	"cuDeviceGetCount":                   {cuDeviceGetCount, afterInit},
	"cuDeviceGetName":                    {cuDeviceGetName, afterInit},
	"cuDeviceGetUuid":                    {cuDeviceGetUuid, afterInit},
	"cuDeviceGetUuid_v2":                 {cuDeviceGetUuid, afterInit},
	"cuDeviceTotalMem_v2":                {cuDeviceTotalMem, afterInit},
	"cuDeviceGetAttribute":               {cuDeviceGetAttribute, afterInit},
	"cuDeviceGetProperties":              {cuDeviceGetProperties, afterInit},
	"cuDeviceComputeCapability":          {cuDeviceComputeCapability, afterInit},
	"cuDeviceGetPCIBusId":                {cuDeviceGetPCIBusID, afterInit},
	"cuDeviceGetByPCIBusId":              {cuDeviceGetByPCIBusID, afterInit},
	"cuDeviceGetExecAffinitySupport":     {cuDeviceGetExecAffinitySupport, afterInit},
	"cuDeviceGetTexture1DLinearMaxWidth": {cuDeviceGetTexture1DLinearMaxWidth, afterInit},
}

// deviceAt returns the device whose CUdevice is argument i.
func deviceAt(c call, i int) *device {
	n := int(c.Int32(i))
	if n < 0 || n >= len(c.e.devices) {
		return nil
	}
	return c.e.devices[n]
}

func cuDeviceGet(c call) result {
	if c.Ptr(0) == nil {
		return errInvalidValue
	}
	d := deviceAt(c, 1)
	if d == nil {
		return errInvalidDevice
	}
	return put(c, 0, cu.CUdevice(d.ordinal))
}

func cuDeviceGetCount(c call) result { return put(c, 0, int32(len(c.e.devices))) }

func cuDeviceGetName(c call) result {
	d := deviceAt(c, 2)
	if d == nil {
		return errInvalidDevice
	}
	return putText(c, 0, int(c.Int32(1)), c.e.cfg.Name)
}

// putText writes a NUL-terminated string, cut to fit the buffer.
func putText(c call, i, room int, s string) result {
	dst := list[byte](c, i, room)
	if dst == nil {
		return errInvalidValue
	}
	n := copy(dst[:len(dst)-1], s)
	dst[n] = 0
	return success
}

// uuid returns the UUID of the device: its text identifies the emulator, its last byte the device.
func (d *device) uuid() [16]byte {
	var u [16]byte
	copy(u[:], "purecuda-emu")
	u[14], u[15] = byte(d.ordinal>>8), byte(d.ordinal)
	return u
}

func cuDeviceGetUuid(c call) result {
	d := deviceAt(c, 1)
	if d == nil {
		return errInvalidDevice
	}
	return put(c, 0, d.uuid())
}

func cuDeviceTotalMem(c call) result {
	if deviceAt(c, 1) == nil {
		return errInvalidDevice
	}
	return put(c, 0, uintptr(c.e.cfg.MemorySize))
}

func cuDeviceGetAttribute(c call) result {
	if c.Ptr(0) == nil {
		return errInvalidValue
	}
	d := deviceAt(c, 2)
	if d == nil {
		return errInvalidDevice
	}
	v, ok := d.attrs[cu.CUdevice_attribute(c.Uint32(1))]
	if !ok {
		return errInvalidValue
	}
	return put(c, 0, v)
}

func cuDeviceGetProperties(c call) result {
	p, d := at[cu.CUdevprop](c, 0), deviceAt(c, 1)
	switch {
	case p == nil:
		return errInvalidValue
	case d == nil:
		return errInvalidDevice
	}
	*p = cu.CUdevprop{
		MaxThreadsPerBlock:  d.attr(cu.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
		SharedMemPerBlock:   d.attr(cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
		TotalConstantMemory: d.attr(cu.CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
		SIMDWidth:           d.attr(cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE),
		MemPitch:            d.attr(cu.CU_DEVICE_ATTRIBUTE_MAX_PITCH),
		RegsPerBlock:        d.attr(cu.CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
		ClockRate:           d.attr(cu.CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
		TextureAlign:        d.attr(cu.CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
	}
	for i := range 3 {
		p.MaxThreadsDim[i] = d.attr(cu.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + cu.CUdevice_attribute(i))
		p.MaxGridSize[i] = d.attr(cu.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + cu.CUdevice_attribute(i))
	}
	return success
}

func (d *device) attr(a cu.CUdevice_attribute) int32 { return d.attrs[a] }

func cuDeviceComputeCapability(c call) result {
	d := deviceAt(c, 2)
	if d == nil {
		return errInvalidDevice
	}
	if c.Ptr(0) == nil || c.Ptr(1) == nil {
		return errInvalidValue
	}
	*at[int32](c, 0) = int32(c.e.cfg.ComputeCapability[0])
	*at[int32](c, 1) = int32(c.e.cfg.ComputeCapability[1])
	return success
}

// busID returns the PCI address of a device. Each device has its own bus.
func (d *device) busID() string {
	const digits = "0123456789ABCDEF"
	bus := d.ordinal + 1
	return "0000:" + string([]byte{digits[bus>>4&15], digits[bus&15]}) + ":00.0"
}

func cuDeviceGetPCIBusID(c call) result {
	d := deviceAt(c, 2)
	if d == nil {
		return errInvalidDevice
	}
	return putText(c, 0, int(c.Int32(1)), d.busID())
}

func cuDeviceGetByPCIBusID(c call) result {
	id, ok := c.text(1)
	if !ok || c.Ptr(0) == nil {
		return errInvalidValue
	}
	for _, d := range c.e.devices {
		full := d.busID()
		if id == full || id == full[:len(full)-2] || id == full[len("0000:"):] {
			return put(c, 0, cu.CUdevice(d.ordinal))
		}
	}
	if strings.Count(id, ":") == 0 {
		return errInvalidValue
	}
	return errInvalidDevice
}

func cuDeviceGetExecAffinitySupport(c call) result {
	if deviceAt(c, 2) == nil {
		return errInvalidDevice
	}
	return put(c, 0, int32(0))
}

func cuDeviceGetTexture1DLinearMaxWidth(c call) result {
	d := deviceAt(c, 3)
	if d == nil {
		return errInvalidDevice
	}
	return put(c, 0, uintptr(d.attr(cu.CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH)))
}

// sizeOf is unsafe.Sizeof for a type.
func sizeOf[T any]() uintptr {
	var v T
	return unsafe.Sizeof(v)
}
