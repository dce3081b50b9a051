package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// LayerNorm normalizes each row to mean 0 and variance 1, multiplies it by weight, and adds bias.
// Each row has the same length as weight. A warp computes one row, and its first lane stores the
// row's mean and the reciprocal of its standard deviation.
//
//gpu:kernel block=256 restrict=out,mean,rstd,x,weight,bias
func LayerNorm(t gpu.Thread, out, mean, rstd, x, weight, bias []float32) {
	n := len(weight)
	r := t.BlockX()*t.BlockDimX()/32 + t.Warp()
	if r >= len(mean) {
		return
	}
	row, y, bias := x[r*n:][:n], out[r*n:][:n], bias[:n]
	var sum float32
	for i := t.Lane(); i < len(row); i += 32 {
		sum += row[i]
	}
	m := warpSum(t, sum) / float32(n)
	sum = 0
	for i := t.Lane(); i < len(row); i += 32 {
		d := row[i] - m
		sum += d * d
	}
	s := gpu.ApproxRsqrt(warpSum(t, sum)/float32(n) + 1e-5)
	if t.Lane() == 0 {
		gpu.StoreCached(&mean[r], m, gpu.CacheStreaming)
		gpu.StoreCached(&rstd[r], s, gpu.CacheStreaming)
	}
	for i := t.Lane(); i < len(row); i += 32 {
		v := s * (gpu.LoadCached(&row[i], gpu.CacheStreaming) - m)
		gpu.StoreCached(&y[i], v*weight[i]+bias[i], gpu.CacheStreaming)
	}
}

// RMSNorm divides each row of n numbers by its root mean square. A block of 1,024 threads computes
// one row.
//
//gpu:kernel block=1024 restrict=out,x
func RMSNorm(t gpu.Thread, out, x []float32, n int, eps float32) {
	r := t.BlockX()
	row, y := x[r*n:][:n], out[r*n:][:n]
	var sum float32
	for i := t.ThreadX(); i < len(row); i += t.BlockDimX() {
		sum += row[i] * row[i]
	}
	scale := gpu.ApproxRsqrt(blockSumToAll(t, sum)/float32(n) + eps)
	for i := t.ThreadX(); i < len(row); i += t.BlockDimX() {
		y[i] = scale * row[i]
	}
}
