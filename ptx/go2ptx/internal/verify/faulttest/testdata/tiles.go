// Package tiles has kernels that load vectors under conditions. The compiler removes a check that an earlier one
// under a weaker condition includes.
package tiles

import "github.com/purecuda/cuda/ptx/gpu"

// up loads vectors with ascending indices.
//
//gpu:kernel block=32
func up(t gpu.Thread, x, out []int32) {
	i, sum := 4*t.GlobalX(), int32(0)
	if i+4 <= len(x) {
		v := *(*[4]int32)(x[i:]) // up near
		sum += v[0] + v[1] + v[2] + v[3]
	}
	if i+36 <= len(x) {
		v := *(*[4]int32)(x[i+32:]) // up far
		sum += v[0] + v[1] + v[2] + v[3]
	}
	out[0] = sum
}

// down loads vectors with descending indices.
//
//gpu:kernel block=32
func down(t gpu.Thread, x, out []int32) {
	i, sum := 4*t.GlobalX(), int32(0)
	if i+36 <= len(x) {
		v := *(*[4]int32)(x[i+32:]) // down far
		sum += v[0] + v[1] + v[2] + v[3]
	}
	if i+4 <= len(x) {
		v := *(*[4]int32)(x[i:]) // down near
		sum += v[0] + v[1] + v[2] + v[3]
	}
	out[0] = sum
}

// other loads a second vector from other memory.
//
//gpu:kernel block=32
func other(t gpu.Thread, x, out []int32) {
	i, sum := 4*t.GlobalX(), int32(0)
	if i+4 <= len(out) {
		v := *(*[4]int32)(out[i:])
		sum += v[0] + v[1] + v[2] + v[3]
	}
	if i+36 <= len(x) {
		v := *(*[4]int32)(x[i+32:]) // other far
		sum += v[0] + v[1] + v[2] + v[3]
	}
	out[0] = sum
}
