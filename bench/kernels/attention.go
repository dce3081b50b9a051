package kernels

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// Attention computes causal attention. For each head, which BlockY selects, q, k, v and out have n
// rows of 64 numbers. A block computes 64 rows, one per thread. Each thread keeps its query and its
// sums in registers. Shared memory holds 32 rows of keys and values at a time, and their scores.
//
//gpu:kernel block=64 restrict=out,q,k,v
func Attention(t gpu.Thread, out, q, k, v []float32, n int, scale float32) {
	keys := gpu.Shared[[32][64]float32](t)
	values := gpu.Shared[[32][64]float32](t)
	scores := gpu.Shared[[32][64]float32](t)
	head := 64 * n * t.BlockY()
	out, q, k, v = out[head:][:64*n], q[head:][:64*n], k[head:][:64*n], v[head:][:64*n]
	tid, first := t.ThreadX(), 64*t.BlockX()
	row := first + tid
	var query, sum [64]float32
	if row < n {
		from := q[64*row:][:64]
		for d := 0; d < 64; d += 4 {
			x := *(*[4]float32)(from[d:])
			query[d], query[d+1], query[d+2], query[d+3] = x[0], x[1], x[2], x[3]
		}
	}
	most, total := float32(math.Inf(-1)), float32(0)
	for start := 0; start < min(first+64, n); start += 32 {
		for j := range 8 {
			e := 4 * (64*j + tid) // index of the element in the tile
			var x, y [4]float32
			if i := 64*start + e; i < 64*n {
				x, y = *(*[4]float32)(k[i:]), *(*[4]float32)(v[i:])
			}
			*(*[4]float32)(keys[e/64][e%64:]) = x
			*(*[4]float32)(values[e/64][e%64:]) = y
		}
		t.Sync()
		before := most
		for j := range keys {
			var s [4]float32
			for d := 0; d < 64; d += 4 {
				x := (*[4]float32)(keys[j][d:])
				s[0] += query[d] * x[0]
				s[1] += query[d+1] * x[1]
				s[2] += query[d+2] * x[2]
				s[3] += query[d+3] * x[3]
			}
			score := scale * (s[0] + s[1] + s[2] + s[3])
			if start+j > row {
				score = float32(math.Inf(-1))
			}
			scores[j][tid] = score
			most = max(most, score)
		}
		shrink := gpu.ApproxExp(before - most)
		total *= shrink
		for d := range sum {
			sum[d] *= shrink
		}
		for j := range values {
			p := gpu.ApproxExp(scores[j][tid] - most)
			total += p
			for d := 0; d < 64; d += 4 {
				x := (*[4]float32)(values[j][d:])
				sum[d] += p * x[0]
				sum[d+1] += p * x[1]
				sum[d+2] += p * x[2]
				sum[d+3] += p * x[3]
			}
		}
		t.Sync()
	}
	if row < n {
		o := out[64*row:][:64]
		for d := 0; d < 64; d += 4 {
			*(*[4]float32)(o[d:]) = [4]float32{sum[d] / total, sum[d+1] / total, sum[d+2] / total, sum[d+3] / total}
		}
	}
}
