package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/spec"
)

func cuCtxSetLimit(c call) result {
	limit, value := cu.CUlimit(c.Uint32(0)), c.Word(1)
	if _, ok := c.ctx.limits[limit]; !ok {
		return unknownLimit(limit)
	}
	switch limit {
	case cu.CU_LIMIT_STACK_SIZE:
		if value > spec.MaxStack {
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
