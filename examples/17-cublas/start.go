package main

import (
	"fmt"

	"github.com/purecuda/cuda/examples/internal/demo"
)

// run opens cuBLAS and computes the layers, or reports what is missing.
func run(d *demo.Demo) error {
	if d.Emulated {
		d.Printf("There is nothing to show: cuBLAS computes on a GPU only.")
		return nil
	}
	lib, err := openCUBLAS(d.Context)
	if demo.NotInstalled(cublas, err) {
		d.Printf("There is nothing to show: cuBLAS is not installed. Install the CUDA toolkit, and have CUDA_PATH name its folder if cuBLAS is not found then.\n%v", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("cuBLAS cannot be used: %w", err)
	}
	return layers(d, lib)
}
