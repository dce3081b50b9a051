package main

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	sample = regexp.MustCompile(`^([a-z_]+)(\{[a-z]+="[^"]+"\})? ([0-9.e+-]+)$`)
	header = regexp.MustCompile(`^# (HELP|TYPE) [a-z_]+ .+$`)
)

func TestMetricsAreInPrometheusFormat(t *testing.T) {
	var m metrics
	m.answered(200, 300*time.Microsecond)
	m.answered(429, 500*time.Microsecond)
	m.answered(200, time.Hour)
	m.launched(7)
	var b strings.Builder
	m.write(&b, gauge{"service_device_memory_free_bytes", "Free.", 1 << 40})
	described := map[string]int{}
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case header.MatchString(line):
			described[strings.Fields(line)[2]]++
		case !sample.MatchString(line):
			t.Errorf("not a line of the format: %q", line)
		default:
			family(t, described, sample.FindStringSubmatch(line)[1])
		}
	}
	for _, want := range []string{`service_requests_total{code="200"} 2`, `service_requests_total{code="429"} 1`,
		`_bucket{le="0.0005"} 2`, `_bucket{le="+Inf"} 3`, "_count 3", "service_graph_rows_total 7", "free_bytes 1099511627776"} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("%s is not in\n%s", want, b.String())
		}
	}
}

// family fails the test if a sample precedes its HELP and TYPE lines.
func family(t *testing.T, described map[string]int, name string) {
	t.Helper()
	for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
		if described[strings.TrimSuffix(name, suffix)] == 2 {
			return
		}
	}
	t.Errorf("%s has no HELP and TYPE before it", name)
}

func TestBucketsAreCumulative(t *testing.T) {
	var m metrics
	for _, b := range bounds {
		m.answered(200, time.Duration(b*float64(time.Second)))
	}
	var text strings.Builder
	m.write(&text)
	want := 1
	for line := range strings.Lines(text.String()) {
		_, n, found := strings.Cut(line, `"} `)
		if !strings.Contains(line, "_bucket") || !found || strings.Contains(line, "+Inf") {
			continue
		}
		if got, err := strconv.Atoi(strings.TrimSpace(n)); err != nil || got != want {
			t.Errorf("%s: expected %d", strings.TrimSpace(line), want)
		}
		want++
	}
	if want != len(bounds)+1 {
		t.Errorf("%d buckets", want-1)
	}
}
