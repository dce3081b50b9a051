package callable

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/absent"
)

// Descriptions for the errors of methods on nil and zero objects.
var (
	aCallable = absent.Kind{Name: "callable", Make: "callable.New", Code: driver.CUDA_ERROR_INVALID_VALUE}
	aTrace    = absent.Kind{Name: "Trace", Make: "callable.New", Code: driver.CUDA_ERROR_INVALID_VALUE}
)
