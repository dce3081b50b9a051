package serve_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/serve"
)

func TestLatencyOfBatchedCalls(t *testing.T) {
	each(t, func(k *kit) {
		clock := new(serve.FakeClock)
		b := k.batcher(k.rows, serve.WithBatch(4, 3*time.Millisecond), serve.WithClock(clock))
		results := k.join(background, b, 1, 0)
		k.armed(clock, 3*time.Millisecond)
		clock.Advance(2 * time.Millisecond)
		results = append(results, k.join(background, b, 1, 5)...)
		mine, failed := errors.New("mine"), make(chan error, 1)
		go func() { failed <- b.Call(background, ramp(width, 0), func(output, int) error { return mine }) }()
		k.waiting(b, 3)
		clock.Advance(1 * time.Millisecond)
		k.all(results)
		if err := <-failed; err != mine {
			t.Errorf("got %v", err)
		}
		s := b.Stats()
		if s.LatencySum != 4*time.Millisecond || s.Calls != 3 {
			t.Errorf("did %+v", s)
		}
		for i, bucket := range s.Latency {
			want := uint64(0)
			if bucket.Most == time.Millisecond || bucket.Most == 5*time.Millisecond {
				want = 1
			}
			if bucket.Calls != want {
				t.Errorf("bucket %d: %+v", i, bucket)
			}
		}
	})
}

// Each number has a different value, and each value must appear exactly once.
func TestBatchStatsWritePrometheus(t *testing.T) {
	s := serve.BatchStats{
		Replicas: 1, Busy: 2, Queued: 3, Calls: 4, Failed: 5, Refused: serve.Refused{Busy: 6, TooLate: 7, Closed: 8, Lost: 9},
		CancelledQueued: 10, CancelledRunning: 11, Sizes: []serve.BatchSize{{Size: 1, Batches: 12, Calls: 13}, {Size: 8, Batches: 14, Calls: 15}},
		Padded: 16, Waited: 17 * time.Second, Window: 18 * time.Second, Rebuilt: 19, Grown: 20, BuildsFailed: 21, Updated: 22,
		MemoryBytes: 23, MeanBatch: 24 * time.Second, Longest: 25 * time.Second, LatencySum: 26 * time.Second, Restarts: 28,
	}
	for i := range s.Latency {
		s.Latency[i].Most = time.Duration(i)
	}
	s.Latency[len(s.Latency)-1].Calls = 27
	var b bytes.Buffer
	if err := s.WritePrometheus(&b, "batcher"); err != nil {
		t.Fatal(err)
	}
	var values []float64
	for name, v := range promParse(t, b.String()) {
		if !strings.HasPrefix(name, "batcher_") {
			t.Errorf("%s has no prefix", name)
		}
		if !strings.Contains(name, "_bucket") {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	for i, v := range values {
		if v != float64(i+1) {
			t.Fatalf("value %d is missing in %v", i+1, values)
		}
	}
	if len(values) != 28 || s.Batches() != 26 || s.CallsPerBatch() != 28./26 {
		t.Errorf("%d values, %d batches, %v calls per batch", len(values), s.Batches(), s.CallsPerBatch())
	}
	if err := s.WritePrometheus(nil, "batcher"); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Errorf("no writer: %v", err)
	}
	r, w := io.Pipe()
	r.CloseWithError(os.ErrDeadlineExceeded)
	if err := s.WritePrometheus(w, "batcher"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a writer that fails: %v", err)
	}
}
