package main

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/purecuda/cuda/graph/serve"
)

var (
	sample = regexp.MustCompile(`^([a-z_]+)(\{[a-z]+="[^"]+"(?:,[a-z]+="[^"]+")*\})? ([0-9.e+-]+)$`)
	header = regexp.MustCompile(`^# (HELP|TYPE) ([a-z_]+) .+$`)
)

// parse parses Prometheus's text format, and returns the values by name and labels.
func parse(t *testing.T, text string) map[string]float64 {
	t.Helper()
	values, described, family := map[string]float64{}, map[string]int{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if h := header.FindStringSubmatch(line); h != nil {
			family = h[2]
			described[family]++
			continue
		}
		s := sample.FindStringSubmatch(line)
		if s == nil {
			t.Errorf("not a line of the format: %q", line)
			continue
		}
		v, err := strconv.ParseFloat(s[3], 64)
		if err != nil || described[family] != 2 || !strings.HasPrefix(s[1], family) {
			t.Errorf("%q follows HELP and TYPE of %s, error %v", line, family, err)
		}
		if _, again := values[s[1]+s[2]]; again {
			t.Errorf("%q is repeated", line)
		}
		values[s[1]+s[2]] = v
	}
	return values
}

func TestMetrics(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		for range 3 {
			request(s, "POST", "/v1/score", list("1"))
		}
		request(s, "POST", "/v1/score", "no JSON")
		request(s, "GET", "/healthz", "")
		open := blocked(t, s)
		w := request(s, "GET", "/metrics", "")
		vars := request(s, "GET", "/debug/vars", "")
		open()
		if kind := w.Header().Get("Content-Type"); kind != "text/plain; version=0.0.4; charset=utf-8" {
			t.Errorf("the content is %q", kind)
		}
		got := parse(t, w.Body.String())
		for name, want := range map[string]float64{
			`service_responses_total{path="/v1/score",code="200"}`: 3,
			`service_responses_total{path="/v1/score",code="400"}`: 1,
			`service_responses_total{path="/healthz",code="200"}`:  1,
			"service_replicas":      float64(*replicas),
			"service_replicas_busy": float64(*replicas),
			"service_queue_length":  0,
			"service_calls_total":   float64(3 + *replicas), `service_batches_total{size="1"}`: float64(3 + *replicas), // counts the calls that read their outputs as well
			`service_calls_refused_total{reason="busy"}`:      0,
			`service_call_duration_seconds_bucket{le="+Inf"}`: 3,
			"service_call_duration_seconds_count":             3,
		} {
			if v, ok := got[name]; !ok || v != want {
				t.Errorf("%s is %v, want %v:\n%s", name, v, want, w.Body)
			}
		}
		var vs struct {
			Service struct {
				Batcher   serve.BatchStats
				Responses map[string]int
			}
		}
		if err := json.Unmarshal(vars.Body.Bytes(), &vs); err != nil {
			t.Fatalf("%v: %s", err, vars.Body)
		}
		p := vs.Service.Batcher
		if p.Calls != uint64(3+*replicas) || p.Busy != *replicas || p.LatencySum <= 0 || vs.Service.Responses[`{path="/v1/score",code="200"}`] != 3 {
			t.Errorf("expvar has %+v", vs.Service)
		}
	})
}
