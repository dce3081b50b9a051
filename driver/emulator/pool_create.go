package emulator

import "github.com/purecuda/cuda/driver/cu"

func cuMemPoolCreate(c call) result {
	props := at[cu.CUmemPoolProps](c, 1)
	if c.Ptr(0) == nil || props == nil {
		return errInvalidValue
	}
	d, r := c.e.poolDevice(props)
	if r != success {
		return r
	}
	p := d.newPool(false)
	p.maxSize = uint64(props.MaxSize)
	return put(c, 0, p.handle)
}

// poolDevice returns the device where memory with these properties lies.
func (e *Emulator) poolDevice(props *cu.CUmemPoolProps) (*device, result) {
	loc := props.Location
	switch {
	case props.AllocType != cu.CU_MEM_ALLOCATION_TYPE_PINNED:
		return nil, errInvalidValue
	case props.HandleTypes != cu.CU_MEM_HANDLE_TYPE_NONE:
		return nil, errNotSupported
	case loc.Type == cu.CU_MEM_LOCATION_TYPE_HOST || loc.Type == cu.CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return nil, errNotSupported
	case loc.Type != cu.CU_MEM_LOCATION_TYPE_DEVICE:
		return nil, errInvalidValue
	case loc.Id < 0 || int(loc.Id) >= len(e.devices):
		return nil, errInvalidDevice
	}
	return e.devices[loc.Id], success
}

// cuMemPoolDestroy destroys the pool. Memory allocated from it stays until it is freed.
func cuMemPoolDestroy(c call) result {
	p := handleAt[pool](c, 0)
	if p == nil || p.fixed {
		return errInvalidValue
	}
	if p.dev.pools.current == p {
		p.dev.pools.current = p.dev.pools.standard
	}
	p.threshold = 0
	p.trim(0)
	c.e.forget(p.handle)
	return success
}

func cuMemPoolTrimTo(c call) result {
	p := handleAt[pool](c, 0)
	if p == nil {
		return errInvalidValue
	}
	p.trim(c.Uint64(1))
	return success
}

func cuMemPoolSetAttribute(c call) result {
	p := handleAt[pool](c, 0)
	if p == nil || c.Ptr(2) == nil {
		return errInvalidValue
	}
	switch a := cu.CUmemPool_attribute(c.Uint32(1)); a {
	case cu.CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
		cu.CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
		cu.CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		p.reuse[a-cu.CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *at[int32](c, 2)
	case cu.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		p.threshold = *at[uint64](c, 2)
	case cu.CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, cu.CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		if *at[uint64](c, 2) != 0 {
			return errInvalidValue
		}
		if a == cu.CU_MEMPOOL_ATTR_USED_MEM_HIGH {
			p.usedHigh = p.used
		} else {
			p.reservedHigh = p.reserved
		}
	default:
		return errInvalidValue
	}
	return success
}

func cuMemPoolGetAttribute(c call) result {
	p := handleAt[pool](c, 0)
	if p == nil || c.Ptr(2) == nil {
		return errInvalidValue
	}
	switch a := cu.CUmemPool_attribute(c.Uint32(1)); a {
	case cu.CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
		cu.CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
		cu.CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		return put(c, 2, p.reuse[a-cu.CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES])
	case cu.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		return put(c, 2, p.threshold)
	case cu.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		return put(c, 2, p.reserved)
	case cu.CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		return put(c, 2, p.reservedHigh)
	case cu.CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		return put(c, 2, p.used)
	case cu.CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		return put(c, 2, p.usedHigh)
	}
	return errInvalidValue
}

// cuMemPoolSetAccess sets nothing if one of the descriptions is invalid.
func cuMemPoolSetAccess(c call) result {
	p := handleAt[pool](c, 0)
	descs := list[cu.CUmemAccessDesc](c, 1, int(c.Word(2)))
	if p == nil || descs == nil {
		return errInvalidValue
	}
	if r := c.e.checkAccess(p.dev, descs); r != success {
		return r
	}
	for _, d := range descs {
		if d.Flags == cu.CU_MEM_ACCESS_FLAGS_PROT_READ {
			return errNotSupported // observed on driver 580
		}
	}
	setAccess(&p.reach, descs)
	return success
}

func cuMemPoolGetAccess(c call) result {
	p, loc := handleAt[pool](c, 1), at[cu.CUmemLocation](c, 2)
	if p == nil || loc == nil {
		return errInvalidValue
	}
	return put(c, 0, accessFlags(p.reach.May(int(loc.Id))))
}
