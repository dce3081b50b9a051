package emulator

import "github.com/purecuda/cuda/driver/cu"

func cuDeviceGetDefaultMemPool(c call) result {
	d := deviceAt(c, 1)
	if d == nil {
		return errInvalidDevice
	}
	return put(c, 0, d.standardPool().handle)
}

func cuDeviceGetMemPool(c call) result {
	d := deviceAt(c, 1)
	if d == nil {
		return errInvalidDevice
	}
	return put(c, 0, d.currentPool().handle)
}

func cuDeviceSetMemPool(c call) result {
	d, p := deviceAt(c, 0), handleAt[pool](c, 1)
	switch {
	case d == nil:
		return errInvalidDevice
	case p == nil || p.dev != d:
		return errInvalidValue
	}
	d.standardPool()
	d.pools.current = p
	return success
}

// poolOwner returns the device whose pools are used for a location and an allocation type. These
// are argument i and the next one.
func poolOwner(c call, i int) (*device, result) {
	loc := at[cu.CUmemLocation](c, i)
	if loc == nil {
		return nil, errInvalidValue
	}
	props := cu.CUmemPoolProps{AllocType: cu.CUmemAllocationType(c.Uint32(i + 1)), Location: *loc}
	return c.e.poolDevice(&props)
}

func cuMemGetDefaultMemPool(c call) result {
	d, r := poolOwner(c, 1)
	if r != success {
		return r
	}
	return put(c, 0, d.standardPool().handle)
}

func cuMemGetMemPool(c call) result {
	d, r := poolOwner(c, 1)
	if r != success {
		return r
	}
	return put(c, 0, d.currentPool().handle)
}

func cuMemSetMemPool(c call) result {
	d, r := poolOwner(c, 0)
	if r != success {
		return r
	}
	p := handleAt[pool](c, 2)
	if p == nil || p.dev != d {
		return errInvalidValue
	}
	d.standardPool()
	d.pools.current = p
	return success
}
