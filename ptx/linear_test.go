package ptx_test

import (
	"testing"
	"time"

	"github.com/purecuda/cuda/ptx"
)

// Half a megabyte of each text takes milliseconds when time is linear, and many
// minutes when it is quadratic. The limit leaves room for slow machines and the
// race detector.
func TestTimeIsLinear(t *testing.T) {
	const limit = 5 * time.Second
	for name, src := range pathological(1 << 19) {
		text := []byte(src)
		start := time.Now()
		m, _ := ptx.Parse("", text)
		_ = m.String()
		if d := time.Since(start); d > limit {
			t.Errorf("%s: parsing %d bytes took %v", name, len(text), d)
		}
		start = time.Now()
		_, _ = ptx.Signatures(text)
		if d := time.Since(start); d > limit {
			t.Errorf("%s: signatures of %d bytes took %v", name, len(text), d)
		}
	}
}

func TestParseAllocatesFewObjects(t *testing.T) {
	src := synthetic(100_000)
	allocs := testing.AllocsPerRun(5, func() {
		if _, err := ptx.Parse("", src); err != nil {
			t.Error(err)
		}
	})
	if perKiB := allocs / (float64(len(src)) / 1024); perKiB > 5 {
		t.Errorf("%.1f allocations per KiB", perKiB)
	}
}

// BenchmarkWorst prints the time per KiB of the slowest text.
func BenchmarkWorst(b *testing.B) {
	for name, src := range pathological(1 << 18) {
		text := []byte(src)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = ptx.Parse("", text)
			}
			perKiB := float64(b.Elapsed().Microseconds()) / float64(b.N) / (float64(len(text)) / 1024)
			b.ReportMetric(perKiB, "µs/KiB")
		})
	}
}
