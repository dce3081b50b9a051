package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/examples/internal/demo"
)

const tolerance = 1e-5 // absolute error allowed in a score; scores are at most 1

// load is the number of clients in the self-test, and of requests by each client.
type load struct{ clients, each int }

var selfLoad = load{clients: 200, each: 5}

// selfTest serves on a local port and sends requests to itself. It shuts the service down as
// SIGTERM would.
func selfTest(d *demo.Demo) (err error) {
	s, m, err := newServer(d, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.serve(ctx, l) }()
	c := newClient("http://"+l.Addr().String(), m)
	err = c.test(d, s)
	c.CloseIdleConnections()
	stop(errors.New("the test has ended"))
	return errors.Join(err, <-served, s.pool.firstError())
}

// test sends the load and prints the results.
func (c *client) test(d *demo.Demo, s *server) error {
	begin := time.Now()
	if err := c.send(selfLoad); err != nil {
		return err
	}
	took := time.Since(begin)
	n, launches := len(c.took), s.metrics.launches.Load()
	d.Printf("%d clients sent %d requests: all scores are right", selfLoad.clients, n)
	d.Printf("%d launches of a graph by %d workers, %.1f requests each; %d were turned away and sent again",
		launches, len(s.pool.workers), float64(s.metrics.rows.Load())/float64(launches), c.again.Load())
	slices.Sort(c.took)
	if !d.Emulated {
		d.Printf("%.0f requests per second; half were answered within %v, 99 %% within %v",
			float64(n)/took.Seconds(), c.took[n/2], c.took[n*99/100])
	}
	return c.look(d)
}

// look requests the health and the metrics, and prints them.
func (c *client) look(d *demo.Demo) error {
	if _, err := c.get("/healthz"); err != nil {
		return err
	}
	text, err := c.get("/metrics")
	if err != nil {
		return err
	}
	for _, want := range []string{fmt.Sprintf("service_requests_total{code=\"200\"} %d\n", len(c.took)), "service_requests_in_flight 0\n"} {
		if !strings.Contains(text, want) {
			return fmt.Errorf("the metrics lack %q:\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "service_") && !strings.Contains(line, "_bucket") {
			d.Printf("  %s", strings.TrimSpace(line))
		}
	}
	return nil
}

// client sends requests and compares the responses with the reference.
type client struct {
	*http.Client
	base  string
	model *model
	again atomic.Int64

	mu   sync.Mutex
	took []time.Duration
}

// newClient creates a client that dials its connections itself. In WebAssembly, the default
// transport would use the browser's.
func newClient(base string, m *model) *client {
	t := &http.Transport{DialContext: new(net.Dialer).DialContext, MaxIdleConnsPerHost: selfLoad.clients}
	return &client{Client: &http.Client{Transport: t, Timeout: time.Minute}, base: base, model: m}
}

// send makes all clients send their requests concurrently.
func (c *client) send(l load) error {
	var wg sync.WaitGroup
	errs := make([]error, l.clients)
	for i := range l.clients {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			for range l.each {
				if errs[i] = c.one(numbers(random, inputs, 1)); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// one sends a request, and repeats it until the service accepts it.
func (c *client) one(input []float32) error {
	for {
		begin := time.Now()
		code, text, err := c.post(context.Background(), input)
		switch {
		case err != nil:
			return err
		case code == http.StatusTooManyRequests:
			c.again.Add(1)
			time.Sleep(5 * time.Millisecond)
			continue
		case code != http.StatusOK:
			return fmt.Errorf("status %d: %s", code, strings.TrimSpace(text))
		}
		c.mu.Lock()
		c.took = append(c.took, time.Since(begin))
		c.mu.Unlock()
		return c.compare(input, text)
	}
}

func (c *client) post(ctx context.Context, input []float32) (code int, text string, err error) {
	body, err := json.Marshal(request{input})
	if err != nil {
		return 0, "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/score", bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	return c.do(r)
}

func (c *client) get(path string) (string, error) {
	r, err := http.NewRequest(http.MethodGet, c.base+path, nil)
	if err != nil {
		return "", err
	}
	code, text, err := c.do(r)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %s", path, code, strings.TrimSpace(text))
	}
	return text, err
}

func (c *client) do(r *http.Request) (code int, text string, err error) {
	resp, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(all), err
}

func (c *client) compare(input []float32, text string) error {
	var got response
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		return err
	}
	want := c.model.reference(input)
	if len(got.Scores) != len(want) {
		return fmt.Errorf("%d scores, there should be %d", len(got.Scores), len(want))
	}
	for i, v := range got.Scores {
		if d := math.Abs(float64(v) - want[i]); !(d <= tolerance) {
			return fmt.Errorf("score %d is %v, it should be %v", i, v, want[i])
		}
	}
	return nil
}
