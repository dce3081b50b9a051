package driver

import (
	"sync"

	"github.com/purecuda/cuda/driver/cu"
)

// noDriver is the driver of a nil Context: a closed one, whose functions all fail with
// CUDA_ERROR_INVALID_CONTEXT.
var noDriver = sync.OnceValue(func() *Driver { return &Driver{*cu.NoContext(), new(driverCore)} })
