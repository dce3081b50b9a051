package main

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx

// count adds 1 to each element of x, rounds times. Volatile accesses prevent the additions from
// becoming one, so the kernel takes time.
//
//gpu:kernel block=128
func count(t gpu.Thread, x []uint32, rounds uint32) {
	i := t.GlobalX()
	if i >= len(x) {
		return
	}
	for range rounds {
		gpu.StoreVolatile(&x[i], gpu.LoadVolatile(&x[i])+1)
	}
}
