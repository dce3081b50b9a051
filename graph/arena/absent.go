package arena

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/absent"
)

// Descriptions for the errors of methods on nil and zero objects.
var (
	anArena = absent.Kind{Name: "arena", Make: "arena.New", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aPlan   = absent.Kind{Name: "plan", Make: "Arena.Plan", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aBuffer = absent.Kind{Name: "buffer", Make: "arena.Alloc", Code: driver.CUDA_ERROR_INVALID_VALUE}
)
