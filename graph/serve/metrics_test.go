package serve_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/serve"
)

var (
	comment = regexp.MustCompile(`^# (HELP|TYPE) ([a-z_]+) (.+)$`)
	sample  = regexp.MustCompile(`^([a-z_]+)(\{[a-z_]+="[^"]+"\})? (\S+)$`)
)

// promParse parses Prometheus's text format strictly, and returns the values by name and labels.
func promParse(t *testing.T, text string) map[string]float64 {
	t.Helper()
	values, types, family := map[string]float64{}, map[string]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if c := comment.FindStringSubmatch(line); c != nil {
			if c[1] == "HELP" {
				family = c[2]
			}
			if c[2] != family || types[family] != "" {
				t.Errorf("%q is not in one group with its family", line)
			}
			if c[1] == "TYPE" {
				types[family] = c[3]
			}
			continue
		}
		s := sample.FindStringSubmatch(line)
		if s == nil {
			t.Errorf("%q is not a sample", line)
			continue
		}
		v, err := strconv.ParseFloat(s[3], 64)
		of := s[1]
		if types[family] == "histogram" {
			of = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(of, "_bucket"), "_sum"), "_count")
		}
		if _, again := values[s[1]+s[2]]; err != nil || again || of != family {
			t.Errorf("%q: %v, or it is repeated or not after its family", line, err)
		}
		if (types[family] == "counter") != strings.HasSuffix(family, "_total") {
			t.Errorf("%s is a %s", family, types[family])
		}
		values[s[1]+s[2]] = v
	}
	return values
}

// Each numeric field of Stats has a different value, and each value must appear once.
func TestWritePrometheus(t *testing.T) {
	var s serve.Stats
	n := int64(0)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		for i := range v.NumField() {
			n++
			switch f := v.Field(i); f.Interface().(type) {
			case serve.Refused:
				fill(f)
			case time.Duration:
				f.SetInt(n * int64(time.Second))
			case int:
				f.SetInt(n)
			case uint64:
				f.SetUint(uint64(n))
			}
		}
	}
	fill(reflect.ValueOf(&s).Elem())
	for i := range s.Latency {
		s.Latency[i] = serve.Bucket{Most: time.Duration(i+1) * time.Second, Calls: uint64(i)}
	}
	var b bytes.Buffer
	if err := s.WritePrometheus(&b, "pool"); err != nil {
		t.Fatal(err)
	}
	got := promParse(t, b.String())
	last := float64(-1)
	for i := range s.Latency {
		le := strconv.Itoa(i + 1)
		if i == len(s.Latency)-1 {
			le = "+Inf"
		}
		name := fmt.Sprintf("pool_call_duration_seconds_bucket{le=%q}", le)
		if v, ok := got[name]; !ok || v != float64(i*(i+1)/2) || v < last {
			t.Errorf("%s is %v, want %d", name, v, i*(i+1)/2)
		}
		last = got[name]
		delete(got, name)
	}
	for name, want := range map[string]float64{
		"pool_call_duration_seconds_sum": s.LatencySum.Seconds(), "pool_call_duration_seconds_count": last,
		"pool_replicas": float64(s.Replicas), "pool_replicas_busy": float64(s.Busy), "pool_queue_length": float64(s.Queued),
		"pool_calls_total": float64(s.Calls), "pool_calls_failed_total": float64(s.Failed),
		`pool_calls_refused_total{reason="busy"}`:     float64(s.Refused.Busy),
		`pool_calls_refused_total{reason="too_late"}`: float64(s.Refused.TooLate),
		`pool_calls_refused_total{reason="closed"}`:   float64(s.Refused.Closed),
		`pool_calls_refused_total{reason="lost"}`:     float64(s.Refused.Lost),
		`pool_calls_cancelled_total{state="queued"}`:  float64(s.CancelledQueued),
		`pool_calls_cancelled_total{state="running"}`: float64(s.CancelledRunning),
		"pool_call_mean_seconds":                      s.MeanCall.Seconds(),
		"pool_call_longest_seconds":                   s.Longest.Seconds(),
		"pool_replicas_rebuilt_total":                 float64(s.Rebuilt), "pool_replicas_grown_total": float64(s.Grown),
		"pool_replica_builds_failed_total": float64(s.BuildsFailed), "pool_restarts_total": float64(s.Restarts),
		"pool_replays_total": float64(s.Replayed), "pool_eager_total": float64(s.Eager), "pool_recordings_total": float64(s.Recorded),
		"pool_updates_total": float64(s.Updated), "pool_evictions_total": float64(s.Evicted),
		"pool_variants": float64(s.Variants), "pool_memory_bytes": float64(s.MemoryBytes),
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("unexpected: %v", got)
	}
	if err := s.WritePrometheus(nil, "pool"); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Errorf("no writer: %v", err)
	}
	r, w := io.Pipe()
	r.CloseWithError(os.ErrDeadlineExceeded)
	if err := s.WritePrometheus(w, "pool"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a writer that fails: %v", err)
	}
}

func TestLatencyCountsSuccessfulCalls(t *testing.T) {
	each(t, func(k *kit) {
		p := k.pool(k.affine)
		begin := time.Now()
		for range 3 {
			k.OK(call(background, p, ramp(8, 1)))
		}
		mine := errors.New("mine")
		if err := p.Call(background, ramp(8, 1), func(output) error { return mine }); err != mine {
			t.Errorf("got %v", err)
		}
		s, n := p.Stats(), uint64(0)
		for _, b := range s.Latency {
			n += b.Calls
		}
		if most := time.Since(begin); n != 3 || s.LatencySum <= 0 || s.LatencySum > most {
			t.Errorf("%d calls took %v in all, want 3 that took at most %v", n, s.LatencySum, most)
		}
	})
}

// The text of zero Stats must also be valid.
func TestWritePrometheusOfZeroStats(t *testing.T) {
	var pool, batcher bytes.Buffer
	if err := errors.Join(serve.Stats{}.WritePrometheus(&pool, "pool"), serve.BatchStats{}.WritePrometheus(&batcher, "batcher")); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{pool.String(), batcher.String()} {
		seen := map[string]bool{}
		for line := range strings.Lines(text) {
			if seen[line] {
				t.Errorf("twice: %s", line)
			}
			seen[line] = true
		}
	}
}
