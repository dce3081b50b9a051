package cache

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/absent"
)

// Descriptions for the errors of methods on nil and zero objects.
var (
	aCache  = absent.Kind{Name: "memory cache", Make: "cache.New", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aBuffer = absent.Kind{Name: "buffer", Make: "driver.Alloc", Code: driver.CUDA_ERROR_INVALID_VALUE}
)
