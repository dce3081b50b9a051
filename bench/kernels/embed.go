package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// Embed computes out[k] = token[tokens[k]] + position[k%T] for sequences of T tokens. out[k],
// token[i] and position[i] are rows of C numbers, where C is a multiple of four. Each thread
// computes four numbers.
//
//gpu:kernel block=256 restrict=out,tokens,token,position
func Embed(t gpu.Thread, out []float32, tokens []int32, token, position []float32, T, C int32) {
	i := 4 * t.GlobalX()
	if i+4 > len(out) {
		return
	}
	k, c := int32(i)/C, int32(i)%C
	at := int(tokens[k]*C + c)
	u, v := gpu.LoadCached((*[4]float32)(token[at:]), gpu.CacheStreaming), *(*[4]float32)(position[k%T*C+c:])
	*(*[4]float32)(out[i:]) = [4]float32{u[0] + v[0], u[1] + v[1], u[2] + v[2], u[3] + v[3]}
}
