// Command 18-service is an HTTP service that scores inputs with a small network. Requests that wait
// at the same time are computed by one launch. Without -listen, the program tests itself: many clients
// send requests and check the responses. With -listen, it serves until SIGTERM or an interrupt:
//
//	18-service -listen :8080
//	curl -d '{"input":[1,2,…]}' localhost:8080/v1/score
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/purecuda/cuda/examples/internal/demo"
)

var (
	listen    = flag.String("listen", "", "address to serve on, such as :8080; without it, the service tests itself and ends")
	replicas  = flag.Int("replicas", 2, "batches that are computed at the same time")
	batch     = flag.Int("batch", 32, "most requests in a batch")
	queue     = flag.Int("queue", 256, "requests that may wait before others are refused")
	timeout   = flag.Duration("timeout", 5*time.Second, "time for a request")
	loseAfter = flag.Duration("lose-after", 0, "after this time, a kernel writes to an invalid address, which loses the GPU")
)
var clients, requests = 200, 1000 // numbers of the self-test

func main() { demo.Main("18-service", run) }

func run(d *demo.Demo) error {
	s, err := newService(d)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", cmp.Or(*listen, "127.0.0.1:0"))
	if err != nil {
		return err
	}
	d.LoseAfter(*loseAfter)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *listen != "" {
		slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
		return s.serve(ctx, l)
	}
	tested := make(chan error, 1)
	go func() { defer stop(); tested <- s.test(d, "http://"+l.Addr().String()) }()
	return errors.Join(s.serve(ctx, l), <-tested)
}

// serve serves until a signal ends ctx or the service fails. It then completes the requests in flight.
func (s *service) serve(ctx context.Context, l net.Listener) error {
	// Clients that send or read slowly must not delay the shutdown.
	h := &http.Server{Handler: s.handler(), ReadHeaderTimeout: *timeout, ReadTimeout: 2 * *timeout, WriteTimeout: 3 * *timeout}
	go func() { s.fail(h.Serve(l)) }()
	slog.Info("serving", "address", l.Addr().String())
	// [ending]
	select {
	case <-ctx.Done():
	case <-s.failed.Done():
	}
	err := context.Cause(s.failed) // nil after a signal; otherwise the exit status is 1, and the supervisor restarts the process
	slog.Info("shutting down", "error", err)
	return errors.Join(err, h.Shutdown(context.Background())) // the timeouts limit it
	// [end]
}

// test sends requests over many connections and checks every response.
func (s *service) test(d *demo.Demo, url string) error {
	n := min(clients, *queue+*replicas) // the service refuses none of them
	t := &http.Transport{DialContext: new(net.Dialer).DialContext, MaxConnsPerHost: n, MaxIdleConnsPerHost: n}
	defer t.CloseIdleConnections()
	results := make(chan error, requests)
	for i := range requests {
		go func() { results <- ask(&http.Client{Transport: t}, url, i%outputs) }()
	}
	for range requests {
		if err := <-results; err != nil {
			return err
		}
	}
	d.Printf("%d clients sent %d requests: all scores are right; %d batches", n, requests, s.batcher.Stats().Batches())
	return nil
}

// ask sends an input with the given label and checks the response. The score of that label must be
// sigmoid(9).
func ask(c *http.Client, url string, label int) error {
	body := fmt.Sprintf(`{"input":[%s9%s]}`, strings.Repeat("0,", 4*label), strings.Repeat(",0", inputs-1-4*label))
	r, err := c.Post(url+"/v1/score", "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if t := string(text); !strings.Contains(t, fmt.Sprintf(`"label":%d,`, label)) || !strings.Contains(t, "0.99987") {
		return fmt.Errorf("label %d: %s: %s (%v)", label, r.Status, text, err)
	}
	return nil
}
