package main

import (
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/ptx/kernels"
)

const inputs, outputs = 64, 16 // numbers of elements in a request and in a response
type output = *driver.HostBuffer[float32]

// service has a network of two layers, whose weights all replicas share.
type service struct {
	weights   *driver.Buffer[float32]
	batcher   *serve.Batcher[[]float32, output]
	responses expvar.Map      // number of responses for each label
	failed    context.Context // ends when the process must end
	fail      context.CancelCauseFunc
}

func newService(d *demo.Demo) (s *service, err error) {
	s = new(service)
	s.failed, s.fail = context.WithCancelCause(context.Background())
	w := slices.Repeat([]float32{1, 2}, inputs/2)
	if s.weights, err = demo.MemoryFrom(d, w); err != nil {
		return nil, err
	}
	s.batcher, err = serve.NewBatcher(d.Context, s.record, w, serve.WithBatch(*batch, 0),
		serve.WithReplicas(*replicas), serve.WithQueue(*queue), serve.WithDeadlines())
	d.Close(s.batcher)
	return s, err
}

// record records the work of a batch. The first layer computes max(0, input × weight), and the second layer adds
// four results of the first.
func (s *service) record(t *callable.Trace[[][]float32]) (output, error) {
	x := callable.StageRows(t, func(in []float32) []float32 { return in })
	y := callable.Scratch[float32](t, x.Len()/inputs*outputs)
	t.Try(kernels.Mul(x, x, s.weights))
	t.Try(kernels.ReLU(x, x))
	t.Try(kernels.SumRows(y, kernels.MatrixOf(x, x.Len()*outputs/inputs, inputs/outputs), nil))
	t.Try(kernels.Sigmoid(y, y))
	return callable.Result(t, y), nil
}

var (
	vars     = expvar.NewMap("service")
	errInput = errors.New("the input must be a list of 64 numbers")
	errStuck = errors.New("a batch does not end")
	// statuses maps the errors that clients may see to HTTP statuses. Any other error is status 500.
	statuses = map[error]int{
		nil: 200, errInput: 400, os.ErrDeadlineExceeded: 408, serve.ErrBusy: 429, context.Canceled: 499, errStuck: 503,
		driver.ErrClosed: 503, driver.ErrContextLost: 503, serve.ErrTooLate: 504, context.DeadlineExceeded: 504,
	}
)

func (s *service) handler() http.Handler {
	health := s.handle(func(*http.Request) (any, error) {
		if s.batcher.Stats().Longest > 6**timeout {
			return nil, errStuck
		}
		return "ok", s.weights.Context().Lost()
	})
	vars.Set("batcher", expvar.Func(func() any { return s.batcher.Stats() }))
	vars.Set("responses", &s.responses)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/score", s.handle(s.score))
	mux.HandleFunc("GET /healthz", health)
	mux.HandleFunc("GET /readyz", health)
	mux.Handle("GET /debug/vars", expvar.Handler())
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		fmt.Fprint(w, "# HELP service_responses_total Responses by path and status.\n# TYPE service_responses_total counter\n")
		s.responses.Do(func(n expvar.KeyValue) { fmt.Fprintf(w, "service_responses_total%s %v\n", n.Key, n.Value) })
		_ = s.batcher.Stats().WritePrometheus(w, "service") // fails if the client is gone
	})
	return mux
}

// handle returns a handler that responds with the result of f.
func (s *service) handle(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r)
		code, text := http.StatusInternalServerError, "internal error" // clients must not see the driver's messages
		for known, status := range statuses {
			if errors.Is(err, known) {
				code, text = status, fmt.Sprint(known)
			}
		}
		if err == nil {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v) // fails if the client is gone
		} else {
			if code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable {
				w.Header().Set("Retry-After", "1")
			}
			http.Error(w, text, code)
		}
		if code >= 500 {
			slog.Error("request failed", "path", r.URL.Path, "status", code, "error", err)
		}
		if errors.Is(err, driver.ErrContextLost) || code == 500 && *listen == "" { // the self-test accepts no failure
			s.fail(err)
		}
		s.responses.Add(fmt.Sprintf("{path=%q,code=\"%d\"}", r.URL.Path, code), 1)
	}
}

// score computes the scores of the input in a request.
func (s *service) score(r *http.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), *timeout)
	defer cancel()
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	if err != nil {
		return nil, err
	}
	var in struct{ Input []float32 }
	if json.Unmarshal(body, &in) != nil || len(in.Input) != inputs {
		return nil, errInput
	}
	scores := make([]float32, outputs)
	err = s.batcher.Call(ctx, in.Input, func(out output, row int) error {
		copy(scores, out.Slice()[row*outputs:]) // the next batch overwrites out
		return nil
	})
	return map[string]any{"label": slices.Index(scores, slices.Max(scores)), "scores": scores}, err
}
