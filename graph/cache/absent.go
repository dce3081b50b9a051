package cache

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/absent"
)

// What methods of nil and of zero objects say.
var (
	aCache  = absent.Kind{Name: "memory cache", Make: "cache.New", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aBuffer = absent.Kind{Name: "buffer", Make: "driver.Alloc", Code: driver.CUDA_ERROR_INVALID_VALUE}
)
