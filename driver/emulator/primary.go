package emulator

var primaryFunctions = functions{
	"cuDevicePrimaryCtxRetain":      {cuDevicePrimaryCtxRetain, afterInit},
	"cuDevicePrimaryCtxRelease":     {cuDevicePrimaryCtxRelease, afterInit},
	"cuDevicePrimaryCtxRelease_v2":  {cuDevicePrimaryCtxRelease, afterInit},
	"cuDevicePrimaryCtxSetFlags":    {cuDevicePrimaryCtxSetFlags, afterInit},
	"cuDevicePrimaryCtxSetFlags_v2": {cuDevicePrimaryCtxSetFlags, afterInit},
	"cuDevicePrimaryCtxGetState":    {cuDevicePrimaryCtxGetState, afterInit},
	"cuDevicePrimaryCtxReset":       {cuDevicePrimaryCtxReset, afterInit},
	"cuDevicePrimaryCtxReset_v2":    {cuDevicePrimaryCtxReset, afterInit},
}

func cuDevicePrimaryCtxRetain(c call) result {
	if c.Ptr(0) == nil {
		return errInvalidValue
	}
	d := deviceAt(c, 1)
	if d == nil {
		return errInvalidDevice
	}
	if d.fault != success {
		return d.fault
	}
	if !d.primary.alive {
		d.primary.open(d.primaryFlags)
	}
	d.primaryRefs++
	return put(c, 0, d.primary.handle)
}

func cuDevicePrimaryCtxRelease(c call) result {
	d := deviceAt(c, 0)
	switch {
	case d == nil:
		return errInvalidDevice
	case d.primaryRefs == 0:
		return errInvalidContext
	}
	if d.primaryRefs--; d.primaryRefs == 0 && d.primary.alive {
		d.primary.close("cuDevicePrimaryCtxRelease")
	}
	return success
}

func cuDevicePrimaryCtxReset(c call) result {
	d := deviceAt(c, 0)
	if d == nil {
		return errInvalidDevice
	}
	if d.primary.alive {
		d.primary.close("cuDevicePrimaryCtxReset")
	}
	return success
}

func cuDevicePrimaryCtxSetFlags(c call) result {
	d := deviceAt(c, 0)
	switch {
	case d == nil:
		return errInvalidDevice
	case !validContextFlags(c.Uint32(1)):
		return errInvalidValue
	}
	d.primaryFlags = c.Uint32(1)
	if d.primary.alive {
		d.primary.flags = d.primaryFlags
	}
	return success
}

func cuDevicePrimaryCtxGetState(c call) result {
	d := deviceAt(c, 0)
	flags, active := at[uint32](c, 1), at[int32](c, 2)
	switch {
	case d == nil:
		return errInvalidDevice
	case flags == nil || active == nil:
		return errInvalidValue
	}
	*flags, *active = d.primaryFlags, flag(d.primary.alive)
	return success
}
