package emulator

import "github.com/purecuda/cuda/driver/cu"

var moreDeviceFunctions = functions{
	"cuDeviceGetHostAtomicCapabilities":   {cuDeviceGetHostAtomicCapabilities, afterInit},
	"cuDeviceGetP2PAtomicCapabilities":    {cuDeviceGetP2PAtomicCapabilities, afterInit},
	"cuDeviceRegisterAsyncNotification":   {cuDeviceRegisterAsyncNotification, afterInit},
	"cuDeviceUnregisterAsyncNotification": {cuDeviceUnregisterAsyncNotification, afterInit},
	"cuFlushGPUDirectRDMAWrites":          {cuFlushGPUDirectRDMAWrites, current},
}

// cuDeviceGetHostAtomicCapabilities: over PCI Express there are none.
func cuDeviceGetHostAtomicCapabilities(c call) result {
	caps := list[uint32](c, 0, int(c.Uint32(2)))
	switch {
	case deviceAt(c, 3) == nil:
		return errInvalidDevice
	case caps == nil || c.Ptr(1) == nil:
		return errInvalidValue
	}
	clear(caps)
	return success
}

// allAtomics lists the atomics that a device can perform in the memory of another device.
const allAtomics = cu.CU_ATOMIC_CAPABILITY_SIGNED | cu.CU_ATOMIC_CAPABILITY_UNSIGNED |
	cu.CU_ATOMIC_CAPABILITY_REDUCTION | cu.CU_ATOMIC_CAPABILITY_SCALAR_32 | cu.CU_ATOMIC_CAPABILITY_SCALAR_64

// cuDeviceGetP2PAtomicCapabilities: an emulated device can perform all atomics in the memory of its
// peers.
func cuDeviceGetP2PAtomicCapabilities(c call) result {
	caps := list[uint32](c, 0, int(c.Uint32(2)))
	a, b := deviceAt(c, 3), deviceAt(c, 4)
	switch {
	case a == nil || b == nil || a == b:
		return errInvalidDevice
	case caps == nil || c.Ptr(1) == nil:
		return errInvalidValue
	}
	for i := range caps {
		caps[i] = uint32(allAtomics)
	}
	return success
}

// notification is a function registered for events of a device. No such events occur here.
type notification struct {
	handle uintptr
	dev    *device
}

func cuDeviceRegisterAsyncNotification(c call) result {
	d := deviceAt(c, 0)
	switch {
	case d == nil:
		return errInvalidDevice
	case c.Word(1) == 0 || c.Ptr(3) == nil:
		return errInvalidValue
	}
	n := &notification{dev: d}
	n.handle = c.e.register(n)
	return put(c, 3, n.handle)
}

func cuDeviceUnregisterAsyncNotification(c call) result {
	d, n := deviceAt(c, 0), handleAt[notification](c, 1)
	switch {
	case d == nil:
		return errInvalidDevice
	case n == nil || n.dev != d:
		return errInvalidValue
	}
	c.e.forget(n.handle)
	return success
}

// cuFlushGPUDirectRDMAWrites: nothing else writes to a device's memory.
func cuFlushGPUDirectRDMAWrites(c call) result {
	scope := cu.CUflushGPUDirectRDMAWritesScope(c.Uint32(1))
	if cu.CUflushGPUDirectRDMAWritesTarget(c.Uint32(0)) != cu.CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
		scope != cu.CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER && scope != cu.CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES {
		return errInvalidValue
	}
	return success
}
