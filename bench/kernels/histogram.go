package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// Histogram adds the number of occurrences of each byte in words to counts. Each warp counts in its
// own part of shared memory.
//
//gpu:kernel block=256 restrict=counts,words
func Histogram(t gpu.Thread, counts, words []uint32) {
	parts := gpu.Shared[[8][256]uint32](t)
	for w := range parts {
		parts[w][t.ThreadX()] = 0
	}
	t.Sync()
	mine := &parts[t.ThreadX()/32]
	for i := t.GlobalX(); i < len(words); i += t.GridStrideX() {
		v := words[i]
		gpu.AtomicAdd(&mine[v&255], 1)
		gpu.AtomicAdd(&mine[v>>8&255], 1)
		gpu.AtomicAdd(&mine[v>>16&255], 1)
		gpu.AtomicAdd(&mine[v>>24], 1)
	}
	t.Sync()
	var sum uint32
	for w := range parts {
		sum += parts[w][t.ThreadX()]
	}
	gpu.AtomicAdd(&counts[t.ThreadX()], sum)
}
