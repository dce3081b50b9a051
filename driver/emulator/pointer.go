package emulator

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

var pointerFunctions = functions{
	"cuPointerGetAttribute":  {cuPointerGetAttribute, afterInit},
	"cuPointerGetAttributes": {cuPointerGetAttributes, afterInit},
	"cuPointerSetAttribute":  {cuPointerSetAttribute, afterInit},
}

func cuPointerGetAttribute(c call) result {
	if c.Ptr(0) == nil {
		return errInvalidValue
	}
	return c.pointerAttribute(c.Ptr(0), cu.CUpointer_attribute(c.Uint32(1)), c.Uint64(2))
}

// cuPointerGetAttributes returns zeros for an unknown pointer.
func cuPointerGetAttributes(c call) result {
	n := int(c.Uint32(0))
	attrs, data := list[cu.CUpointer_attribute](c, 1, n), list[unsafe.Pointer](c, 2, n)
	if n == 0 || attrs == nil || data == nil {
		return errInvalidValue
	}
	addr := c.Uint64(3)
	for i, attr := range attrs {
		if data[i] == nil {
			return errInvalidValue
		}
		if c.pointerAttribute(data[i], attr, addr) != success {
			clear(unsafe.Slice((*byte)(data[i]), attributeSize(attr)))
			if attr == cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL {
				*(*int32)(data[i]) = -2
			}
		}
	}
	return success
}

// attributeSize returns the size of the value that a pointer attribute writes.
func attributeSize(attr cu.CUpointer_attribute) int {
	switch attr {
	case cu.CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		return 16
	case cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, cu.CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
		cu.CU_POINTER_ATTRIBUTE_IS_MANAGED, cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		cu.CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, cu.CU_POINTER_ATTRIBUTE_MAPPED,
		cu.CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, cu.CU_POINTER_ATTRIBUTE_ACCESS_FLAGS,
		cu.CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		return 4
	}
	return 8
}

// isHost reports whether the memory is in the host's address space.
func (a *allocation) isHost() bool { return a.kind == pageLocked || a.kind == registered }

// pointerAttribute stores one attribute of the memory at addr.
func (c call) pointerAttribute(out unsafe.Pointer, attr cu.CUpointer_attribute, addr uint64) result {
	region, ok := c.e.mem.Find(addr)
	if !ok {
		return errInvalidValue
	}
	a, _ := region.User.(*allocation)
	if a == nil {
		a = &allocation{addr: region.Addr, size: region.Size, dev: c.e.deviceOf(region)}
	}
	word := func(v uint32) { *(*uint32)(out) = v }
	long := func(v uint64) { *(*uint64)(out) = v }
	switch attr {
	case cu.CU_POINTER_ATTRIBUTE_CONTEXT:
		if a.ctx == nil {
			long(0)
		} else {
			long(uint64(a.ctx.handle))
		}
	case cu.CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		if a.isHost() {
			word(uint32(cu.CU_MEMORYTYPE_HOST))
		} else {
			word(uint32(cu.CU_MEMORYTYPE_DEVICE))
		}
	case cu.CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		if !c.reaches(region) {
			return errInvalidValue
		}
		long(addr)
	case cu.CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if !a.isHost() && a.kind != managedMemory {
			return errInvalidValue
		}
		long(addr)
	case cu.CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		word(uint32(flag(!a.asyncMemOp)))
	case cu.CU_POINTER_ATTRIBUTE_BUFFER_ID:
		long(a.id)
	case cu.CU_POINTER_ATTRIBUTE_IS_MANAGED:
		word(uint32(flag(a.kind == managedMemory)))
	case cu.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(*int32)(out) = int32(a.dev.ordinal)
	case cu.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, cu.CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		long(region.Addr)
	case cu.CU_POINTER_ATTRIBUTE_RANGE_SIZE, cu.CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		long(region.Size)
	case cu.CU_POINTER_ATTRIBUTE_MAPPED:
		word(1)
	case cu.CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		long(0)
	case cu.CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		*(*[2]uint64)(out) = [2]uint64{a.id, uint64(a.dev.ordinal)}
	case cu.CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
		cu.CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
		cu.CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		word(0)
	case cu.CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		word(uint32(cu.CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE))
	case cu.CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		if a.pool == nil {
			long(0)
		} else {
			long(uint64(a.pool.handle))
		}
	case cu.CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		long(a.id)
	default:
		return errInvalidValue
	}
	return success
}

// reaches reports whether kernels of the current context may access the region.
func (c call) reaches(r *vm.Region) bool {
	if c.ctx == nil || r.Device == vm.HostDevice || r.Device == c.ctx.dev.ordinal {
		return true
	}
	if r.Reach != nil {
		read, _ := r.Reach.May(c.ctx.dev.ordinal)
		return read
	}
	for peer := range c.ctx.peers {
		if peer.dev.ordinal == r.Device {
			return true
		}
	}
	return false
}

func (e *Emulator) deviceOf(r *vm.Region) *device {
	if r.Device >= 0 && r.Device < len(e.devices) {
		return e.devices[r.Device]
	}
	return e.devices[0]
}

func cuPointerSetAttribute(c call) result {
	v := at[uint32](c, 0)
	a := c.e.allocationAt(c.Uint64(2))
	if v == nil || a == nil || cu.CUpointer_attribute(c.Uint32(1)) != cu.CU_POINTER_ATTRIBUTE_SYNC_MEMOPS {
		return errInvalidValue
	}
	a.asyncMemOp = *v == 0
	return success
}
