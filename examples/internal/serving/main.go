// [program]

// Command serving computes 2·x + 1 for HTTP clients.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/anywhere"
	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/ptx/kernels"
)

const elements = 4

type (
	output = *driver.HostBuffer[float32]
	scorer = serve.Pool[[]float32, output]
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func main() {
	drv := must(anywhere.Open()) // a GPU, or else the emulator; the log says which
	pool := newScorer(must(must(drv.Device(0)).PrimaryContext()), serve.WithReplicas(4))
	http.HandleFunc("POST /score", func(w http.ResponseWriter, r *http.Request) { handle(pool, w, r) })
	server := &http.Server{Addr: "localhost:8080"}
	go func() { log.Print(server.ListenAndServe()) }()
	ended, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ended.Done()
	if err := errors.Join(server.Shutdown(context.Background()), pool.Close()); err != nil { // the server first
		log.Fatal(err)
	}
}

func newScorer(ctx *driver.Context, opts ...serve.Option) *scorer {
	weights := must(driver.AllocFrom(ctx, []float32{1, 1, 1, 1}))
	f := func(t *callable.Trace[[]float32]) (output, error) {
		x := callable.StageSlice(t, func(in []float32) []float32 { return in })
		t.Try(kernels.MulScalar(x, x, float32(2)))
		t.Try(kernels.Add(x, x, weights))
		return callable.Result(t, x), nil
	}
	return must(serve.New(ctx, f, [][]float32{make([]float32, elements)}, opts...))
}

// handle maps every error to a status.
func handle(pool *scorer, w http.ResponseWriter, r *http.Request) {
	var in []float32
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil || len(in) != elements {
		http.Error(w, "the input must be a list of 4 numbers", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	scores := make([]float32, elements)
	err := pool.Call(ctx, in, func(out output) error {
		copy(scores, out.Slice()) // copy now, so that a slow client does not hold the replica
		return nil
	})
	var response []byte
	if err == nil {
		response, err = json.Marshal(scores) // fails if a score is infinite or NaN
	}
	switch {
	case err == nil:
		_, _ = w.Write(append(response, '\n')) // fails if the client is gone
	case errors.Is(err, serve.ErrBusy):
		http.Error(w, "busy", http.StatusTooManyRequests)
	case errors.Is(err, serve.ErrTooLate), errors.Is(err, context.DeadlineExceeded):
		http.Error(w, "too late", http.StatusGatewayTimeout)
	case errors.Is(err, driver.ErrClosed), errors.Is(err, driver.ErrContextLost):
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
	case errors.Is(err, context.Canceled): // the client is gone
	default:
		log.Print(err)
		http.Error(w, "internal error", http.StatusInternalServerError)
	}
}

// [end]
