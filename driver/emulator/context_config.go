package emulator

import "github.com/purecuda/cuda/driver/cu"

func cuCtxGetCacheConfig(c call) result { return put(c, 0, c.ctx.cache) }

func cuCtxSetCacheConfig(c call) result {
	v := cu.CUfunc_cache(c.Uint32(0))
	if v > cu.CU_FUNC_CACHE_PREFER_EQUAL {
		return errInvalidValue
	}
	c.ctx.cache = v
	return success
}

func cuCtxGetSharedMemConfig(c call) result {
	return put(c, 0, cu.CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE)
}

func cuCtxSetSharedMemConfig(c call) result {
	v := cu.CUsharedconfig(c.Uint32(0))
	if v > cu.CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE {
		return errInvalidValue
	}
	return success // banks have had 4 bytes since compute capability 5.0
}

// cuCtxGetExecAffinity: every context has all of the device.
func cuCtxGetExecAffinity(c call) result {
	if cu.CUexecAffinityType(c.Uint32(1)) != cu.CU_EXEC_AFFINITY_TYPE_SM_COUNT {
		return cu.CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
	}
	p := cu.CUexecAffinityParam{Type: cu.CU_EXEC_AFFINITY_TYPE_SM_COUNT}
	p.Param.SmCount().Val = uint32(c.e.cfg.Multiprocessors)
	return put(c, 0, p)
}
