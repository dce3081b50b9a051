package serve

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/graph/internal/refusal"
)

// Bucket counts the calls whose duration was at most Most, and longer than the previous bucket's
// Most.
type Bucket struct {
	Most  time.Duration // math.MaxInt64 in the last bucket
	Calls uint64
}

const us, ms = time.Microsecond, time.Millisecond

// bounds are the upper bounds of the buckets.
var bounds = [len(Stats{}.Latency)]time.Duration{50 * us, 100 * us, 250 * us, 500 * us, 1 * ms, 2500 * us, 5 * ms, 10 * ms, 25 * ms, 50 * ms,
	100 * ms, 250 * ms, 500 * ms, time.Second, 2500 * ms, 5 * time.Second, 10 * time.Second, math.MaxInt64}

// latency counts calls by the time that they took.
type latency struct {
	counts [len(bounds)]atomic.Uint64
	sum    atomic.Int64
}

func (l *latency) add(took time.Duration) {
	i := 0
	for took > bounds[i] {
		i++
	}
	l.counts[i].Add(1)
	l.sum.Add(int64(took))
}

// to stores the counts in the latency fields of s.
func (l *latency) to(s *Stats) {
	for i := range s.Latency {
		s.Latency[i] = Bucket{bounds[i], l.counts[i].Load()}
	}
	s.LatencySum = time.Duration(l.sum.Load())
}

// WritePrometheus writes the statistics in Prometheus's text format, for a handler of /metrics. The
// names of the metrics begin with name and an underscore.
func (s Stats) WritePrometheus(w io.Writer, name string) error {
	if w == nil {
		return refusal.Invalid("serve: WritePrometheus: no writer")
	}
	b := metrics{name: name}
	family := b.family
	family("replicas", "gauge", "Replicas.", "", s.Replicas)
	family("replicas_busy", "gauge", "Replicas in use.", "", s.Busy)
	family("queue_length", "gauge", "Calls that wait for a replica.", "", s.Queued)
	family("calls_total", "counter", "Calls that computed an output.", "", s.Calls)
	family("calls_failed_total", "counter", "Calls that failed, other than by refusal or cancellation.", "", s.Failed)
	family("calls_refused_total", "counter", "Calls that were refused, by reason.",
		`{reason="busy"}`, s.Refused.Busy, `{reason="too_late"}`, s.Refused.TooLate,
		`{reason="closed"}`, s.Refused.Closed, `{reason="lost"}`, s.Refused.Lost)
	family("calls_cancelled_total", "counter", "Calls whose context ended, by their state at that time.",
		`{state="queued"}`, s.CancelledQueued, `{state="running"}`, s.CancelledRunning)
	family("call_mean_seconds", "gauge", "Recent mean time for which a call occupied its replica.", "", s.MeanCall.Seconds())
	family("call_longest_seconds", "gauge", "Time for which the oldest call in progress has occupied its replica.", "", s.Longest.Seconds())
	family("call_duration_seconds", "histogram", "Time that successful calls took, including the wait for a replica.", histogram(s.Latency, s.LatencySum)...)
	family("replicas_rebuilt_total", "counter", "Replicas created again after a failure.", "", s.Rebuilt)
	family("restarts_total", "counter", "New contexts after a loss.", "", s.Restarts)
	family("replicas_grown_total", "counter", "Replicas added by growth.", "", s.Grown)
	family("replica_builds_failed_total", "counter", "Failed attempts to create a replica.", "", s.BuildsFailed)
	family("replays_total", "counter", "Calls that launched a graph.", "", s.Replayed)
	family("eager_total", "counter", "Calls that enqueued their operations directly.", "", s.Eager)
	family("recordings_total", "counter", "Runs of the function that recorded.", "", s.Recorded)
	family("updates_total", "counter", "Recordings that led to an update of a graph.", "", s.Updated)
	family("evictions_total", "counter", "Shapes closed to make room for others.", "", s.Evicted)
	family("variants", "gauge", "Shapes that replicas keep.", "", s.Variants)
	family("memory_bytes", "gauge", "Memory of these shapes, on the device and page-locked.", "", s.MemoryBytes)
	_, err := w.Write(b.Bytes())
	return err
}

// metrics is a buffer of text in the Prometheus exposition format.
type metrics struct {
	bytes.Buffer
	name string // prefix of the names of all metrics
}

// family adds metrics with the same name. Each sample is a pair: the rest of the name, and a value.
func (m *metrics) family(suffix, kind, help string, samples ...any) {
	fmt.Fprintf(m, "# HELP %s_%s %s\n# TYPE %[1]s_%[2]s %[4]s\n", m.name, suffix, help, kind)
	for i := 0; i < len(samples); i += 2 {
		fmt.Fprintf(m, "%s_%s%s %v\n", m.name, suffix, samples[i], samples[i+1])
	}
}

// histogram returns the samples for a latency histogram. Each sample is a pair: a suffix of the
// name, and a value.
func histogram(latency [len(bounds)]Bucket, sum time.Duration) []any {
	var samples []any
	total := uint64(0)
	for _, b := range latency[:len(bounds)-1] {
		total += b.Calls
		if b.Most > 0 { // zero Stats have no bounds, and Prometheus rejects buckets with the same bound
			samples = append(samples, fmt.Sprintf(`_bucket{le="%v"}`, b.Most.Seconds()), total)
		}
	}
	total += latency[len(bounds)-1].Calls
	return append(samples, `_bucket{le="+Inf"}`, total, "_sum", sum.Seconds(), "_count", total)
}
