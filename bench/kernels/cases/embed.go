package cases

import "github.com/purecuda/cuda/driver"

// embed has n tokens.
func embed(m *Memory, n int) *Work {
	T, C, words := 1024, 768, 50257
	if n < 1000 {
		T, C, words = 8, 12, 20
	}
	r := source(n)
	tokens, token, position := between[int32](r, n, 0, words), floats(r, words*C), floats(r, T*C)
	out, at, tok, pos := Out(m, make([]float32, n*C)), In(m, tokens), In(m, token), In(m, position)
	return &Work{
		Grid: driver.D1((n*C/4 + 255) / 256), Block: driver.D1(256),
		Args:  []any{out, at, tok, pos, int32(T), int32(C)},
		CUDA:  []any{out.Ptr(), at.Ptr(), tok.Ptr(), pos.Ptr(), int32(T), int32(C), int32(n * C)},
		Bytes: 8 * float64(n*C), Operations: float64(n * C),
		Want: func() []any {
			w := make([]float32, n*C)
			for i := range w {
				w[i] = token[int(tokens[i/C])*C+i%C] + position[i/C%T*C+i%C]
			}
			return []any{w}
		},
	}
}
