package gpu_test

import (
	"testing"

	"github.com/purecuda/cuda/ptx/gpu"
)

func BenchmarkThreads(b *testing.B) {
	x := make([]float32, 1<<16)
	for b.Loop() {
		_ = gpu.Run(gpu.D1(len(x)/256), gpu.D1(256), func(t gpu.Thread) { x[t.GlobalX()] += 1 })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/thread")
}

func BenchmarkSync(b *testing.B) {
	for b.Loop() {
		_ = gpu.Run(gpu.D1(4), gpu.D1(256), func(t gpu.Thread) {
			for range 100 {
				t.Sync()
			}
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4/256/100, "ns/wait")
}

func BenchmarkShuffle(b *testing.B) {
	for b.Loop() {
		_ = gpu.Run(gpu.D1(4), gpu.D1(256), func(t gpu.Thread) {
			v := float32(t.Rank())
			for range 100 {
				v = gpu.ShuffleXor(t, v, 1)
			}
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4/256/100, "ns/wait")
}

func BenchmarkSmallGrid(b *testing.B) {
	for b.Loop() {
		_ = gpu.Run(gpu.D1(2), gpu.D1(64), func(t gpu.Thread) { t.Sync() })
	}
}
