package kernels

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)

// CrossEntropy computes the loss of each row of n logits and the gradient of the mean loss. The
// loss is the negative logarithm of the softmax at the row's target. A block of 1,024 threads
// computes one row.
//
//gpu:kernel block=1024 restrict=loss,gradient,logits,targets
func CrossEntropy(t gpu.Thread, loss, gradient, logits []float32, targets []int32, n int) {
	r := t.BlockX()
	row, out := logits[r*n:][:n], gradient[r*n:][:n]

	most, sum := float32(math.Inf(-1)), float32(0)
	for i := len(row) - 1 - t.ThreadX(); i >= 0; i -= t.BlockDimX() {
		v := row[i]
		before := most
		most = max(most, v)
		sum = sum*math32.Exp(before-most) + math32.Exp(v-most)
	}
	all := blockMaxToAll(t, most)
	scale := 1 / blockSumToAll(t, sum*math32.Exp(most-all))

	target := int(targets[r])
	if t.ThreadX() == 0 {
		loss[r] = -math32.Log(math32.Exp(row[target]-all) * scale)
	}
	each := 1 / float32(t.GridDimX())
	for i := t.ThreadX(); i < len(row); i += t.BlockDimX() {
		p := math32.Exp(gpu.LoadCached(&row[i], gpu.CacheStreaming)-all) * scale
		if i == target {
			p--
		}
		out[i] = p * each
	}
}
