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

func cuCtxGetSharedMemConfig(c call) result { return put(c, 0, c.ctx.shared) }

func cuCtxSetSharedMemConfig(c call) result {
	v := driver.CUsharedconfig(c.Uint32(0))
	if v > driver.CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE {
		return errInvalidValue
	}
	c.ctx.shared = v
	return success
}

func cuCtxGetExecAffinity(c call) result { return driver.CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY }
