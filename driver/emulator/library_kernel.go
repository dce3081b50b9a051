package emulator

import "github.com/purecuda/cuda/driver/cu"

func cuKernelGetFunction(c call) result {
	k := handleAt[kernel](c, 1)
	if k == nil {
		return errInvalidHandle
	}
	f, r := k.in(c)
	if r != success {
		return r
	}
	return put(c, 0, f.handle)
}

func cuKernelGetLibrary(c call) result {
	k := handleAt[kernel](c, 1)
	if k == nil {
		return errInvalidHandle
	}
	return put(c, 0, k.lib.handle)
}

func cuKernelGetName(c call) result {
	if c.Ptr(0) == nil {
		return errInvalidValue
	}
	if f := handleAt[kernelFunc](c, 1); f != nil {
		return put(c, 0, c.e.cString(f.code.Name()))
	}
	k := handleAt[kernel](c, 1)
	if k == nil {
		return errInvalidHandle
	}
	return put(c, 0, c.e.cString(k.name))
}

// on returns the function of a CUkernel on a device: in the current context if that context belongs
// to the device, otherwise in the device's primary context.
func (k *kernel) on(c call, d *device) (*kernelFunc, result) {
	switch {
	case c.ctx != nil && c.ctx.alive && c.ctx.dev == d:
	case d.primary.alive:
		c.ctx = d.primary
	default:
		return nil, errInvalidContext
	}
	return k.in(c)
}

func cuKernelGetAttribute(c call) result {
	k, d := handleAt[kernel](c, 2), deviceAt(c, 3)
	switch {
	case k == nil:
		return errInvalidHandle
	case d == nil:
		return errInvalidDevice
	}
	f, r := k.on(c, d)
	if r != success {
		return r
	}
	v, r := f.attribute(cu.CUfunction_attribute(c.Uint32(1)))
	if r != success {
		return r
	}
	return put(c, 0, v)
}

func cuKernelSetAttribute(c call) result {
	k, d := handleAt[kernel](c, 2), deviceAt(c, 3)
	switch {
	case k == nil:
		return errInvalidHandle
	case d == nil:
		return errInvalidDevice
	}
	f, r := k.on(c, d)
	if r != success {
		return r
	}
	return f.setAttribute(cu.CUfunction_attribute(c.Uint32(0)), c.Int32(1))
}

func cuKernelSetCacheConfig(c call) result {
	k, d := handleAt[kernel](c, 0), deviceAt(c, 2)
	switch {
	case k == nil:
		return errInvalidHandle
	case d == nil:
		return errInvalidDevice
	case cu.CUfunc_cache(c.Uint32(1)) > cu.CU_FUNC_CACHE_PREFER_EQUAL:
		return errInvalidValue
	}
	f, r := k.on(c, d)
	if r != success {
		return r
	}
	f.settings.cache = cu.CUfunc_cache(c.Uint32(1))
	return success
}

func cuKernelGetParamInfo(c call) result {
	k := handleAt[kernel](c, 0)
	if k == nil {
		return errInvalidHandle
	}
	if c.ctx == nil || !c.ctx.alive {
		return errInvalidContext
	}
	f, r := k.in(c)
	if r != success {
		return r
	}
	return f.putParam(c)
}
