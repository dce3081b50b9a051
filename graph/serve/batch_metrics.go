package serve

import (
	"fmt"
	"io"
	"time"

	"github.com/purecuda/cuda/graph/internal/refusal"
)

// BatchStats describes a Batcher. Counts begin with NewBatcher.
type BatchStats struct {
	Replicas   int
	Busy       int // replicas that run a batch
	Queued     int // calls whose batch has not begun
	MostQueued int // largest value of Queued

	Calls            uint64 // calls that got an output
	Failed           uint64 // calls that returned the error of their batch or were removed from it
	Refused          Refused
	CancelledQueued  uint64 // calls whose context ended before their batch began
	CancelledRunning uint64 // calls whose context ended while their batch ran

	Sizes  []BatchSize   // in ascending order
	Padded uint64        // rows that belonged to no call
	Waited time.Duration // total time that calls waited for their batch to begin
	Window time.Duration // part of Waited in which a free replica waited for more calls

	Rebuilt      uint64 // replicas created again after a failure
	Grown        uint64 // replicas added by WithGrowth
	BuildsFailed uint64 // failed attempts to create a replica, other than by NewBatcher
	BuildError   error  // error of the last failed attempt

	Restarts uint64 // new contexts of WithRestart
	LastLoss error  // the latest *LostError, or nil

	Updated     uint64 // recordings that led to an update of a graph; they make batches slow
	MemoryBytes uint64 // memory of all sizes in all replicas, on the device and page-locked

	MeanBatch time.Duration // recent mean time that a batch occupied its replica, including its calls' use functions
	Longest   time.Duration // time that the oldest batch in progress, including its window, has occupied its replica

	// Latency is a histogram of the durations of calls that returned no error. A duration includes
	// the wait for a batch and the use function. LatencySum is the sum of these durations.
	Latency    [18]Bucket
	LatencySum time.Duration
}

// BatchSize counts the batches that ran with graphs of one size.
type BatchSize struct {
	Size    int
	Batches uint64 // batches launched
	Calls   uint64 // calls in these batches
}

// Batches returns the number of batches launched.
func (s BatchStats) Batches() (n uint64) {
	for _, size := range s.Sizes {
		n += size.Batches
	}
	return n
}

// CallsPerBatch returns the mean number of calls in a batch, or 0 if there was no batch.
func (s BatchStats) CallsPerBatch() float64 {
	n, calls := s.Batches(), uint64(0)
	for _, size := range s.Sizes {
		calls += size.Calls
	}
	return float64(calls) / float64(max(1, n))
}

// WritePrometheus writes the statistics in Prometheus's text format, like [Stats.WritePrometheus].
func (s BatchStats) WritePrometheus(w io.Writer, name string) error {
	if w == nil {
		return refusal.Invalid("serve: WritePrometheus: no writer")
	}
	m := metrics{name: name}
	m.family("replicas", "gauge", "Replicas.", "", s.Replicas)
	m.family("replicas_busy", "gauge", "Replicas that run a batch.", "", s.Busy)
	m.family("queue_length", "gauge", "Calls whose batch has not begun.", "", s.Queued)
	m.family("calls_total", "counter", "Calls that got an output.", "", s.Calls)
	m.family("calls_failed_total", "counter", "Calls that returned the error of their batch.", "", s.Failed)
	m.family("calls_refused_total", "counter", "Calls that were refused, by reason.",
		`{reason="busy"}`, s.Refused.Busy, `{reason="too_late"}`, s.Refused.TooLate,
		`{reason="closed"}`, s.Refused.Closed, `{reason="lost"}`, s.Refused.Lost)
	m.family("calls_cancelled_total", "counter", "Calls whose context ended, by their state at that time.",
		`{state="queued"}`, s.CancelledQueued, `{state="running"}`, s.CancelledRunning)
	var batches, calls []any
	for _, size := range s.Sizes {
		label := fmt.Sprintf(`{size="%d"}`, size.Size)
		batches, calls = append(batches, label, size.Batches), append(calls, label, size.Calls)
	}
	m.family("batches_total", "counter", "Batches launched, by the size of their graph.", batches...)
	m.family("batch_calls_total", "counter", "Calls in these batches.", calls...)
	m.family("rows_padded_total", "counter", "Rows that belonged to no call.", "", s.Padded)
	m.family("call_wait_seconds_total", "counter", "Time that calls waited for their batch to begin.", "", s.Waited.Seconds())
	m.family("call_window_seconds_total", "counter", "Part of the wait in which a free replica waited for more calls.", "", s.Window.Seconds())
	m.family("batch_mean_seconds", "gauge", "Recent mean time for which a batch occupied its replica.", "", s.MeanBatch.Seconds())
	m.family("batch_longest_seconds", "gauge", "Time for which the oldest batch in progress has occupied its replica.", "", s.Longest.Seconds())
	m.family("call_duration_seconds", "histogram", "Time that successful calls took, including the wait for a batch.", histogram(s.Latency, s.LatencySum)...)
	m.family("replicas_rebuilt_total", "counter", "Replicas created again after a failure.", "", s.Rebuilt)
	m.family("restarts_total", "counter", "New contexts after a loss.", "", s.Restarts)
	m.family("replicas_grown_total", "counter", "Replicas added by growth.", "", s.Grown)
	m.family("replica_builds_failed_total", "counter", "Failed attempts to create a replica.", "", s.BuildsFailed)
	m.family("updates_total", "counter", "Recordings that led to an update of a graph.", "", s.Updated)
	m.family("memory_bytes", "gauge", "Memory of all sizes, on the device and page-locked.", "", s.MemoryBytes)
	_, err := w.Write(m.Bytes())
	return err
}
