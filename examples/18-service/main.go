// Command 18-service is an HTTP service that computes with graphs. Each worker has a stream,
// an executable graph and page-locked memory. A worker takes all waiting requests, up to the
// capacity of its graph, and computes them in one launch.
//
// Without -listen, the program tests itself. It serves on a local port, sends requests from
// many goroutines, checks every response and shuts down. With -listen, it serves until
// SIGTERM or an interrupt:
//
//	18-service -listen :8080
//	curl -d '{"input":[1,2,…]}' localhost:8080/v1/score
//	curl localhost:8080/metrics
package main

import (
	"context"
	"flag"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
)

var (
	listen    = flag.String("listen", "", "address to serve on, such as :8080; without it the service tests itself and ends")
	workers   = flag.Int("workers", 2, "batches that are computed side by side")
	depth     = flag.Int("queue", 256, "requests that may wait before others are turned away")
	timeout   = flag.Duration("timeout", 5*time.Second, "time for a request")
	drain     = flag.Duration("drain", 10*time.Second, "time for requests in flight at the end")
	loseAfter = flag.Duration("lose-after", 0, "after this time a kernel writes where there is no memory: what happens when a GPU is lost")
)

func main() { demo.Main("18-service", run) }

func run(d *demo.Demo) error {
	if *listen == "" {
		return selfTest(d)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, m, err := newServer(d, slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	if *loseAfter > 0 {
		time.AfterFunc(*loseAfter, func() { s.log.Warn("losing the GPU, as asked", "error", m.loseGPU(d.Stream)) })
	}
	return s.serve(ctx, l)
}

// newServer creates a service with its model and workers. The Demo closes them.
func newServer(d *demo.Demo, log *slog.Logger) (*server, *model, error) {
	m, err := newModel(d)
	if err != nil {
		return nil, nil, err
	}
	s := &server{context: d.Context, metrics: new(metrics), log: log, timeout: *timeout, drain: *drain}
	s.pool, err = newPool(d, m, s.metrics, max(1, *workers), max(1, *depth))
	return s, m, err
}

// loseGPU launches a kernel that writes to an invalid address, after which the context is
// unusable.
func (m *model) loseGPU(s *driver.Stream) error {
	launch, err := m.lose.Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)})
	if err != nil {
		return err
	}
	if err := s.Do(launch); err != nil {
		return err
	}
	return s.Wait(context.Background())
}
