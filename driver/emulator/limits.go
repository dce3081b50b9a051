package emulator

import "github.com/purecuda/cuda/driver/cu"

// defaultLimits returns the limits of a new context.
func defaultLimits() map[cu.CUlimit]uintptr {
	return map[cu.CUlimit]uintptr{
		cu.CU_LIMIT_STACK_SIZE:                       1024,
		cu.CU_LIMIT_PRINTF_FIFO_SIZE:                 8650752,
		cu.CU_LIMIT_MALLOC_HEAP_SIZE:                 8 << 20,
		cu.CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT: 2048,
		cu.CU_LIMIT_MAX_L2_FETCH_GRANULARITY:         64,
		cu.CU_LIMIT_PERSISTING_L2_CACHE_SIZE:         11796480,
		cu.CU_LIMIT_SHMEM_SIZE:                       232448,
		cu.CU_LIMIT_CIG_ENABLED:                      0,
	}
}

// maxStack is the hardware's limit on the local memory of one thread.
const maxStack = 512 << 10

func cuCtxSetLimit(c call) result {
	limit, value := cu.CUlimit(c.Uint32(0)), c.Word(1)
	if _, ok := c.ctx.limits[limit]; !ok {
		return unknownLimit(limit)
	}
	switch limit {
	case cu.CU_LIMIT_STACK_SIZE:
		if value > maxStack {
			return errInvalidValue
		}
	case cu.CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
		if value > 128 {
			return errInvalidValue
		}
	case cu.CU_LIMIT_SHMEM_SIZE, cu.CU_LIMIT_CIG_ENABLED:
		return errNotPermitted
	}
	c.ctx.limits[limit] = value
	if limit == cu.CU_LIMIT_MALLOC_HEAP_SIZE {
		c.ctx.newHeap()
	}
	return success
}

func cuCtxGetLimit(c call) result {
	limit := cu.CUlimit(c.Uint32(1))
	v, ok := c.ctx.limits[limit]
	if !ok {
		return unknownLimit(limit)
	}
	return put(c, 0, v)
}

// unknownLimit distinguishes a limit that the device lacks from an invalid one.
func unknownLimit(limit cu.CUlimit) result {
	if limit < cu.CU_LIMIT_MAX {
		return errUnsupportedLim
	}
	return errInvalidValue
}
