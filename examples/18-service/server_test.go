package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/internal/gputest"
)

// each runs test with a service on the emulator and on a GPU. Afterwards no object may be
// open, and there must be as many goroutines as before.
func each(t *testing.T, test func(t *testing.T, s *server, m *model)) {
	t.Helper()
	t.Run("emulator", func(t *testing.T) { check(t, with(t, "emulator", test)) })
	t.Run("gpu", func(t *testing.T) {
		gputest.GPU(t)
		check(t, with(t, "gpu", test))
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func with(t *testing.T, device string, test func(t *testing.T, s *server, m *model)) error {
	t.Helper()
	before := runtime.NumGoroutine()
	err := demo.Run(device, io.Discard, func(d *demo.Demo) error {
		cudatest.CheckLeaks(t, d.Context.Device().Driver())
		s, m, err := newServer(d, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		test(t, s, m)
		return nil
	})
	sameGoroutines(t, before)
	return err
}

// sameGoroutines waits for goroutines that are about to end.
func sameGoroutines(t *testing.T, before int) {
	t.Helper()
	for range 500 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}

// served starts a service and passes a client to test.
func served(t *testing.T, s *server, m *model, test func(c *client)) {
	t.Helper()
	h := httptest.NewServer(s.handler())
	defer h.Close()
	c := newClient(h.URL, m)
	defer c.CloseIdleConnections()
	test(c)
}

func TestManyRequestsAtOnceAreAllRight(t *testing.T) {
	each(t, func(t *testing.T, s *server, m *model) {
		served(t, s, m, func(c *client) {
			if err := c.send(load{clients: 200, each: 3}); err != nil {
				t.Error(err)
			}
		})
		if rows, launches := s.metrics.rows.Load(), s.metrics.launches.Load(); rows != 600 || launches > rows {
			t.Errorf("%d rows in %d launches", rows, launches)
		}
		if n := s.pool.failed.Load(); n != 0 || s.metrics.inFlight.Load() != 0 {
			t.Errorf("%d batches failed, %d requests in flight", n, s.metrics.inFlight.Load())
		}
	})
}

func TestBadRequestsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, s *server, _ *model) { refusesBad(t, s) })
}

func refusesBad(t *testing.T, s *server) {
	for _, c := range []struct {
		method, path, body string
		code               int
	}{
		{"POST", "/v1/score", "", 400},
		{"POST", "/v1/score", `{"input":[1,2]}`, 400},
		{"POST", "/v1/score", `{"input":"text"}`, 400},
		{"POST", "/v1/score", `{"input":[1e99` + strings.Repeat(",1", inputs-1) + `]}`, 400},
		{"POST", "/v1/score", `{"input":[` + strings.Repeat("1,", 1<<16) + `1]}`, 413},
		{"POST", "/v1/score", `{"input":[1` + strings.Repeat(",1", inputs-1) + `]} and more`, 400},
		{"POST", "/v1/score", `{"input":[3e38` + strings.Repeat(",3e38", inputs-1) + `]}`, 422}, // the sum is infinite
		{"GET", "/v1/score", "", 405},
		{"GET", "/else", "", 404},
	} {
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		if w.Code != c.code || w.Body.Len() == 0 {
			t.Errorf("%s %s %.30q: status %d, expected %d: %q", c.method, c.path, c.body, w.Code, c.code, w.Body)
		}
	}
}

// idle returns a service whose pool has a queue but no workers.
func idle(depth int) (*server, *pool) {
	p := &pool{metrics: new(metrics), queue: make(chan *job, depth), gone: make(chan struct{})}
	return &server{pool: p, metrics: p.metrics, log: slog.New(slog.DiscardHandler), timeout: 20 * time.Millisecond}, p
}

func zeros() *strings.Reader {
	return strings.NewReader(`{"input":[0` + strings.Repeat(",0", inputs-1) + `]}`)
}

func TestRequestsThatDoNotFitAreTurnedAway(t *testing.T) {
	s, p := idle(1)
	post := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, httptest.NewRequest("POST", "/v1/score", zeros()))
		return w
	}
	if w := post(); w.Code != 504 {
		t.Errorf("a request that nobody takes: status %d", w.Code)
	}
	if w := post(); w.Code != 429 || w.Header().Get("Retry-After") == "" {
		t.Errorf("one that does not fit: status %d, header %v", w.Code, w.Header())
	}
	check(t, p.Close())
	if w := post(); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("one after the end: status %d, header %v", w.Code, w.Header())
	}
	s.draining.Store(true)
	if w := post(); w.Code != 503 {
		t.Errorf("one while the service ends: status %d", w.Code)
	}
}

func TestRequestsOfClientsThatLeftAreNotComputed(t *testing.T) {
	_, p := idle(maxRows * 2)
	gone, leave := context.WithCancel(context.Background())
	leave()
	if _, err := p.score(gone, nil); !errors.Is(err, context.Canceled) || statusOf(err) != statusClientGone {
		t.Errorf("error %v", err)
	}
	for i := range maxRows {
		ctx := context.Background()
		if i%2 == 0 {
			ctx = gone
		}
		check(t, p.send(&job{ctx: ctx}))
	}
	batch := gather(append(make([]*job, 0, maxRows), <-p.queue), p.queue)
	if len(batch) != maxRows/2 || len(p.queue) != 0 {
		t.Errorf("a batch of %d, %d are left", len(batch), len(p.queue))
	}
}

// Requests are in flight at shutdown, because the workers are blocked. The service must
// respond to all of them.
func TestRequestsInFlightAreAnsweredAtTheEnd(t *testing.T) {
	each(t, func(t *testing.T, s *server, m *model) {
		goOn := make(chan struct{})
		for _, w := range s.pool.workers {
			check(t, w.stream.HostFunc(func() { <-goOn }))
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- s.serve(ctx, l) }()
		c := newClient("http://"+l.Addr().String(), m)
		defer c.CloseIdleConnections()

		var sent sync.WaitGroup
		sent.Go(func() { check(t, c.send(load{clients: 3 * maxRows, each: 1})) })
		until(t, func() bool { return s.metrics.inFlight.Load() == 3*maxRows })
		stop()
		until(t, s.draining.Load)
		if err := s.ready(); !errors.Is(err, errDraining) {
			t.Errorf("ready: %v", err)
		}
		if len(served) != 0 {
			t.Error("it ended before its requests")
		}
		close(goOn)
		sent.Wait()
		check(t, <-served)
		if _, err := c.get("/healthz"); err == nil {
			t.Error("it still serves")
		}
	})
}

func until(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

func TestRequestsInFlightHaveATimeout(t *testing.T) {
	each(t, func(t *testing.T, s *server, m *model) {
		goOn := make(chan struct{})
		for _, w := range s.pool.workers {
			check(t, w.stream.HostFunc(func() { <-goOn }))
		}
		s.timeout = 20 * time.Millisecond
		served(t, s, m, func(c *client) {
			if code, text, err := c.post(context.Background(), make([]float32, inputs)); code != 504 || err != nil {
				t.Errorf("status %d: %s, error %v", code, text, err)
			}
		})
		close(goOn)
	})
}

// A request whose body does not arrive in time must fail, whatever its URL. It must not
// delay the shutdown longer than the timeout.
func TestBodiesThatStallHaveATime(t *testing.T) {
	each(t, func(t *testing.T, s *server, _ *model) {
		// The write timeout is twice this timeout, which must be enough on a loaded machine.
		s.timeout, s.drain = 2*time.Second, time.Minute
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- s.serve(ctx, l) }()
		var asked sync.WaitGroup
		for _, c := range []struct {
			method, path, begin string
			code                int
		}{
			{"POST", "/v1/score", `{"input":[1`, 408},
			{"POST", "/v1/score", `no JSON`, 408},
			{"POST", "/v1/score", `{"input":[1` + strings.Repeat(",1", inputs-1) + `]}`, 408},
			{"POST", "/metrics", "", 405},
			{"GET", "/metrics", "", 200},
		} {
			asked.Go(func() {
				code, err := stall(l.Addr().String(), fmt.Sprintf("%s %s HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n%s", c.method, c.path, c.begin))
				if err != nil || code != c.code {
					t.Errorf("%s %s %.30q: status %d, expected %d, error %v", c.method, c.path, c.begin, code, c.code, err)
				}
			})
		}
		asked.Wait()
		var sent sync.WaitGroup
		sent.Go(func() {
			if code, err := stall(l.Addr().String(), "POST /v1/score HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{"); err != nil || code != 408 {
				t.Errorf("at the end: status %d, error %v", code, err)
			}
		})
		until(t, func() bool { return s.metrics.inFlight.Load() == 1 })
		begin := time.Now()
		stop()
		check(t, <-served)
		if took := time.Since(begin); took > s.drain/2 {
			t.Errorf("the end took %v", took)
		}
		sent.Wait()
	})
}

// stall sends the beginning of a request, sends nothing more, and waits for the response.
func stall(address, begin string) (code int, err error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return 0, err
	}
	if _, err := io.WriteString(c, begin); err != nil {
		return 0, err
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	return r.StatusCode, err
}

// A closed graph cannot be launched. Only that batch must fail, because the GPU is not lost.
func TestAnErrorThatTheGPUSurvivesIsOneBatchs(t *testing.T) {
	each(t, func(t *testing.T, s *server, m *model) {
		for _, w := range s.pool.workers {
			check(t, w.launch.Exec().Close())
		}
		served(t, s, m, func(c *client) {
			code, text, err := c.post(context.Background(), make([]float32, inputs))
			if code != 500 || err != nil || strings.Contains(text, "graph") {
				t.Errorf("status %d: %s, error %v", code, text, err)
			}
			if _, err := c.get("/healthz"); err != nil {
				t.Error(err)
			}
		})
		if n := s.pool.failed.Load(); n != 1 {
			t.Errorf("%d batches failed", n)
		}
	})
}

func TestLostGPUIsNoticedByARequest(t *testing.T) {
	loses(t, func(c *client) {
		code, text, err := c.post(context.Background(), make([]float32, inputs))
		if err != nil || code != 500 || strings.Contains(text, "CUDA") {
			t.Errorf("status %d: %s, error %v", code, text, err)
		}
	})
}

func TestLostGPUIsNoticedByAProbe(t *testing.T) {
	loses(t, func(c *client) {
		_, err := c.get("/healthz")
		check(t, expect(err, "status 503: the GPU is lost"))
		if err != nil && strings.Contains(err.Error(), "CUDA") {
			t.Errorf("clients are told what the driver said: %v", err)
		}
	})
}

// loses makes a service lose its GPU, and notice detects it. Later requests must be
// rejected, the metrics must be readable, and serve must return the cause.
func loses(t *testing.T, notice func(c *client)) {
	t.Helper()
	ran := false
	err := with(t, "emulator", func(t *testing.T, s *server, m *model) {
		ran = true
		if err := m.loseGPU(s.pool.workers[0].stream); !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_ADDRESS) {
			t.Errorf("it is not lost: %v", err)
		}
		served(t, s, m, func(c *client) {
			notice(c)
			until(t, func() bool { return s.pool.isLost() != nil })
			if code, _, err := c.post(context.Background(), make([]float32, inputs)); code != 503 || err != nil {
				t.Errorf("status %d, error %v", code, err)
			}
			text, err := c.get("/metrics")
			if err != nil || !strings.Contains(text, "service_requests_total") || strings.Contains(text, "device_memory") {
				t.Errorf("metrics: %v\n%s", err, text)
			}
		})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		err = s.serve(context.Background(), l)
		if !errors.Is(err, errLost) || !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_ADDRESS) {
			t.Errorf("serve: %v", err)
		}
	})
	if !ran {
		t.Fatal(err)
	}
	// Closing may report only errors of the lost GPU.
	if err != nil && !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_ADDRESS) {
		t.Errorf("closing: %v", err)
	}
}

// expect returns nil if err contains text.
func expect(err error, text string) error {
	if err == nil || !strings.Contains(err.Error(), text) {
		return errors.Join(errors.New("it should say "+text), err)
	}
	return nil
}

func TestStuckBatchIsBadHealth(t *testing.T) {
	_, p := idle(1)
	w := new(worker)
	w.began.Store(time.Now().Add(-2 * stuckAfter).UnixNano())
	p.workers = []*worker{w}
	check(t, expect(p.health(), "in flight"))
}

func TestEveryStatusIsMeant(t *testing.T) {
	for err, code := range map[error]int{
		nil: http.StatusOK, errBusy: 429, errDraining: 503, errLost: 503, context.Canceled: statusClientGone,
		context.DeadlineExceeded: 504, driver.CUDA_ERROR_UNKNOWN: 500, &badRequest{io.EOF}: 400,
		&badRequest{&http.MaxBytesError{}}: 413, &badRequest{os.ErrDeadlineExceeded}: 408, errNotFinite: 422,
		&json.UnsupportedValueError{}: 500,
	} {
		if got := statusOf(err); got != code {
			t.Errorf("%v: status %d, expected %d", err, got, code)
		}
	}
}
