package ptx_test

import (
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/purecuda/cuda/ptx"
)

// bar is the maximum time for one KiB of any module, on a machine that parses ordinary modules at
// usualSpeed.
const (
	bar        = 100 * time.Microsecond
	usualSpeed = 20 * time.Microsecond // time per KiB at 50 MB/s
	slack      = 2 * raceSlack         // allows for other work on the machine
)

// Parse and Signatures must take linear time. Half a megabyte of any input then takes
// milliseconds, instead of many minutes in quadratic time. The limit allows for slow
// machines and the race detector.
func TestTimeIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("how the time grows with the text is the same everywhere: without -short")
	}
	const limit = 5 * time.Second
	for name, src := range pathological((1 << 19) / raceSlack) {
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

func TestNoTextIsSlow(t *testing.T) {
	if testing.Short() {
		t.Skip("how the time grows with the text is the same everywhere: without -short")
	}
	limit := slowness()
	texts := pathological(1 << 15)
	var slowest time.Duration
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := []byte(texts[name])
		parse, signatures := perKiB(text, limit, parseTime), perKiB(text, limit, signaturesTime)
		t.Logf("%-18s %6.1f µs/KiB, signatures %6.1f", name, micros(parse), micros(signatures))
		slowest = max(slowest, parse, signatures)
		if parse > limit || signatures > limit {
			t.Errorf("%s: slower than %.0f µs/KiB: parsed in %.1f, signatures in %.1f",
				name, micros(limit), micros(parse), micros(signatures))
		}
	}
	t.Logf("the slowest of %d texts takes %.1f µs/KiB; the limit here is %.0f", len(texts), micros(slowest), micros(limit))
}

// slowness returns bar, scaled to the speed of this machine. The machine may be slow or
// busy, or run a race detector or a fuzzer.
func slowness() time.Duration {
	ordinary := perKiB(synthetic(1<<17), usualSpeed, parseTime)
	limit := slack * max(bar, time.Duration(float64(bar)*float64(ordinary)/float64(usualSpeed)))
	if runtime.GOARCH == "wasm" {
		limit *= 4 // wasm runtimes start optimising late, on a thread that other work delays
	}
	return limit
}

// perKiB returns the best time of several runs. It stops at the first run within the
// limit, because on a busy machine most runs also measure other programs.
func perKiB(text []byte, limit time.Duration, measure func([]byte) time.Duration) time.Duration {
	best := time.Duration(1<<63 - 1)
	for try := 0; try < 100 && best > limit; try++ {
		if try > 10 {
			time.Sleep(time.Millisecond)
		}
		best = min(best, time.Duration(float64(measure(text))/max(1, float64(len(text))/1024)))
	}
	return best
}

func parseTime(text []byte) time.Duration {
	start := time.Now()
	_, _ = ptx.Parse("", text)
	return time.Since(start)
}

func signaturesTime(text []byte) time.Duration {
	start := time.Now()
	_, _ = ptx.Signatures(text)
	return time.Since(start)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

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

func BenchmarkWorst(b *testing.B) {
	for name, src := range pathological(1 << 18) {
		text := []byte(src)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = ptx.Parse("", text)
			}
			b.ReportMetric(micros(b.Elapsed())/float64(b.N)/(float64(len(text))/1024), "µs/KiB")
		})
	}
}
