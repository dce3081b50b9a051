package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// metrics holds the counters of the service. They are written in Prometheus's text format
// (https://prometheus.io/docs/instrumenting/exposition_formats/).
type metrics struct {
	inFlight atomic.Int64
	launches atomic.Uint64
	rows     atomic.Uint64 // computed in all launches

	mu      sync.Mutex
	codes   map[int]uint64
	buckets [len(bounds) + 1]uint64 // requests that took at most bounds[i]; the last counts all others
	seconds float64
}

// bounds holds the upper bounds of the histogram, in seconds.
var bounds = [...]float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5}

func (m *metrics) launched(rows int) {
	m.launches.Add(1)
	m.rows.Add(uint64(rows))
}

// answered counts a finished request, with its HTTP status and duration.
func (m *metrics) answered(code int, took time.Duration) {
	s := took.Seconds()
	i, _ := slices.BinarySearch(bounds[:], s)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.codes == nil {
		m.codes = map[int]uint64{}
	}
	m.codes[code]++
	m.buckets[i]++
	m.seconds += s
}

// gauge is a metric whose value is read when the metrics are requested.
type gauge struct {
	name, help string
	value      uint64
}

func (m *metrics) write(w io.Writer, gauges ...gauge) {
	m.mu.Lock()
	defer m.mu.Unlock()
	head(w, "service_requests_total", "counter", "Requests for scores by HTTP status.")
	for _, code := range slices.Sorted(maps.Keys(m.codes)) {
		fmt.Fprintf(w, "service_requests_total{code=\"%d\"} %d\n", code, m.codes[code])
	}
	m.writeHistogram(w)
	number(w, "service_graph_launches_total", "counter", "Launches of graphs.", m.launches.Load())
	number(w, "service_graph_rows_total", "counter", "Requests that these launches computed.", m.rows.Load())
	number(w, "service_requests_in_flight", "gauge", "Requests that wait or are computed.", uint64(max(0, m.inFlight.Load())))
	for _, g := range gauges {
		number(w, g.name, "gauge", g.help, g.value)
	}
}

func (m *metrics) writeHistogram(w io.Writer) {
	const name = "service_request_duration_seconds"
	head(w, name, "histogram", "Time from a request to its answer.")
	sum := uint64(0)
	for i, b := range bounds {
		sum += m.buckets[i]
		fmt.Fprintf(w, "%s_bucket{le=\"%g\"} %d\n", name, b, sum)
	}
	sum += m.buckets[len(bounds)]
	fmt.Fprintf(w, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %g\n%s_count %d\n", name, sum, name, m.seconds, name, sum)
}

func head(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func number(w io.Writer, name, kind, help string, v uint64) {
	head(w, name, kind, help)
	fmt.Fprintf(w, "%s %d\n", name, v)
}
