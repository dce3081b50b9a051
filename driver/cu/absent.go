package cu

import "github.com/purecuda/cuda/internal/absent"

func absentDriver(isNil bool) error {
	k := absent.Kind{Name: "driver", Make: "driver.Open or driver.New", Code: CUDA_ERROR_INVALID_VALUE}
	return k.Error(isNil)
}

func absentBatch(isNil bool) error {
	k := absent.Kind{Name: "batch", Make: "Driver.NewBatch", Code: CUDA_ERROR_INVALID_VALUE}
	return k.Error(isNil)
}
