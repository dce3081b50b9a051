package emulator

import "github.com/purecuda/cuda/driver"

func cuCtxGetCacheConfig(c call) result { return put(c, 0, c.ctx.cache) }

func cuCtxSetCacheConfig(c call) result {
	v := driver.CUfunc_cache(c.Uint32(0))
	if v > driver.CU_FUNC_CACHE_PREFER_EQUAL {
		return errInvalidValue
	}
	c.ctx.cache = v
	return success
}

func cuCtxGetSharedMemConfig(c call) result {
	return put(c, 0, driver.CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE)
}

func cuCtxSetSharedMemConfig(c call) result {
	v := driver.CUsharedconfig(c.Uint32(0))
	if v > driver.CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE {
		return errInvalidValue
	}
	return success // banks have had 4 bytes since compute capability 5.0
}

// cuCtxGetExecAffinity: every context has all of the device.
func cuCtxGetExecAffinity(c call) result {
	if driver.CUexecAffinityType(c.Uint32(1)) != driver.CU_EXEC_AFFINITY_TYPE_SM_COUNT {
		return driver.CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
	}
	p := driver.CUexecAffinityParam{Type: driver.CU_EXEC_AFFINITY_TYPE_SM_COUNT}
	p.Param.SmCount().Val = uint32(c.e.cfg.Multiprocessors)
	return put(c, 0, p)
}
