package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/internal/gputest"
)

// each runs test with a service on the emulator and on a GPU. Afterwards no object may be
// open, and there must be as many goroutines as before.
func each(t *testing.T, test func(t *testing.T, s *service)) {
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

func with(t *testing.T, device string, test func(t *testing.T, s *service)) error {
	t.Helper()
	before := runtime.NumGoroutine()
	err := demo.Run(device, io.Discard, func(d *demo.Demo) error {
		cudatest.CheckLeaks(t, d.Context.Device().Driver())
		s, err := newService(d)
		if err != nil {
			return err
		}
		test(t, s)
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

// set sets a flag for the duration of a test.
func set[T any](t *testing.T, flag *T, v T) {
	t.Helper()
	old := *flag
	*flag = v
	t.Cleanup(func() { *flag = old })
}

// response is what a client receives.
type response struct {
	Scores []float64
	Label  int
}

// request sends a request to the handler, without a network.
func request(s *service, method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w
}

func list(v string) string { return `{"input":[` + v + strings.Repeat(","+v, inputs-1) + `]}` }

// blocked makes all replicas busy until release is called.
func blocked(t *testing.T, s *service) (release func()) {
	t.Helper()
	var left sync.WaitGroup
	open := make(chan struct{})
	for range *replicas { // one after the other, so that they are not in one batch
		entered := make(chan struct{})
		left.Go(func() {
			check(t, s.batcher.Call(context.Background(), make([]float32, inputs), func(output, int) error {
				close(entered)
				<-open
				return nil
			}))
		})
		<-entered
	}
	return sync.OnceFunc(func() { close(open); left.Wait() })
}

func until(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

// Many clients send different inputs, and all scores must agree with double precision.
func TestScoresAreThoseOfTheirInputs(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		h := httptest.NewServer(s.handler())
		defer h.Close()
		var sent sync.WaitGroup
		for client := range 40 {
			sent.Go(func() {
				for i := range 5 {
					in := make([]float64, inputs)
					for k := range in {
						in[k] = math.Sin(float64(client*1000 + i*100 + k))
					}
					check(t, compare(h.URL, in))
				}
			})
		}
		sent.Wait()
		if b := s.batcher.Stats(); b.Calls != 200 || b.Failed != 0 || b.Batches() > 200 {
			t.Errorf("did %+v", b)
		}
	})
}

// Requests that wait while the replicas are busy must run in one batch, and each must get its own scores.
func TestWaitingRequestsAreOneBatch(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		h := httptest.NewServer(s.handler())
		defer h.Close()
		open := blocked(t, s)
		var sent sync.WaitGroup
		for i := range outputs {
			sent.Go(func() { check(t, ask(http.DefaultClient, h.URL, i)) })
		}
		until(t, func() bool { return s.batcher.Stats().Queued == outputs })
		open()
		sent.Wait()
		if n, most := s.batcher.Stats().Batches(), uint64(2**replicas); n > most {
			t.Errorf("%d batches, want at most %d", n, most)
		}
	})
}

func compare(url string, in []float64) error {
	body, err := json.Marshal(map[string]any{"input": in})
	if err != nil {
		return err
	}
	r, err := http.Post(url+"/v1/score", "application/json", strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	var got response
	if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.StatusCode != 200 || len(got.Scores) != outputs {
		return fmt.Errorf("%s: %d scores, %v", r.Status, len(got.Scores), err)
	}
	best := 0
	for i, v := range got.Scores {
		sum := 0.0
		for k, x := range in[4*i : 4*i+4] {
			sum += max(x*float64(1+k%2), 0)
		}
		if want := 1 / (1 + math.Exp(-sum)); !(math.Abs(v-want) <= 1e-5) {
			return fmt.Errorf("score %d is %v, want %v", i, v, want)
		}
		if v > got.Scores[best] {
			best = i
		}
	}
	if got.Label != best {
		return fmt.Errorf("label %d, want %d", got.Label, best)
	}
	return nil
}

func TestRequestsHaveTheirStatuses(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		for _, c := range []struct {
			method, path, body string
			code               int
		}{
			{"POST", "/v1/score", list("1"), 200},
			{"POST", "/v1/score", list("3e38"), 200}, // the sums are infinite, but the scores are finite
			{"POST", "/v1/score", "", 400},
			{"POST", "/v1/score", `{"input":[1,2]}`, 400},
			{"POST", "/v1/score", `{"input":"text"}`, 400},
			{"POST", "/v1/score", list("1e99"), 400},
			{"POST", "/v1/score", `{"input":[` + strings.Repeat("1,", 1<<16) + `1]}`, 400},
			{"POST", "/v1/score", list("1") + " and more", 400},
			{"GET", "/healthz", "", 200},
			{"GET", "/readyz", "", 200},
			{"GET", "/v1/score", "", 405},
			{"GET", "/else", "", 404},
		} {
			if w := request(s, c.method, c.path, c.body); w.Code != c.code || w.Body.Len() == 0 {
				t.Errorf("%s %s %.30q: status %d, want %d: %q", c.method, c.path, c.body, w.Code, c.code, w.Body)
			}
		}
		if s.failed.Err() != nil {
			t.Error("the service ends because of a bad request")
		}
	})
}

// Requests that the pool refuses must be told why, and when to retry.
func TestRequestsThatAreRefused(t *testing.T) {
	set(t, queue, 1)
	each(t, func(t *testing.T, s *service) {
		open := blocked(t, s)
		waiting := make(chan *httptest.ResponseRecorder, 1)
		go func() { waiting <- request(s, "POST", "/v1/score", list("1")) }()
		until(t, func() bool { return s.batcher.Stats().Queued == 1 })
		if w := request(s, "POST", "/v1/score", list("1")); w.Code != 429 || w.Header().Get("Retry-After") == "" {
			t.Errorf("with a full queue: status %d, header %v", w.Code, w.Header())
		}
		open()
		if w := <-waiting; w.Code != 200 {
			t.Errorf("in the queue: status %d: %s", w.Code, w.Body)
		}
		set(t, timeout, time.Nanosecond)
		if w := request(s, "POST", "/v1/score", list("1")); w.Code != 504 {
			t.Errorf("without time: status %d: %s", w.Code, w.Body)
		}
		set(t, timeout, time.Minute)
		check(t, s.batcher.Close())
		if w := request(s, "POST", "/v1/score", list("1")); w.Code != 503 || w.Header().Get("Retry-After") == "" {
			t.Errorf("after the end: status %d, header %v", w.Code, w.Header())
		}
	})
}

// A client that disconnects must give its place in the queue to other clients.
func TestClientsThatLeave(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		open := blocked(t, s)
		defer open()
		ctx, leave := context.WithCancel(context.Background())
		done := make(chan int, 1)
		go func() {
			w := httptest.NewRecorder()
			s.handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", "/v1/score", strings.NewReader(list("1"))))
			done <- w.Code
		}()
		until(t, func() bool { return s.batcher.Stats().Queued == 1 })
		leave()
		if code := <-done; code != 499 || s.batcher.Stats().Queued != 0 {
			t.Errorf("status %d, %+v", code, s.batcher.Stats())
		}
	})
}

// start serves on a local port. stop ends the service as a signal would. served receives the error
// that serve returns.
func start(t *testing.T, s *service) (address string, stop func(), served <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ctx, l) }()
	return l.Addr().String(), cancel, ended
}

// Requests are in flight at shutdown, because the replicas are busy. The service must respond to
// all of them, and must not accept other requests.
func TestRequestsInFlightAreAnsweredAtTheEnd(t *testing.T) {
	set(t, timeout, time.Minute)
	each(t, func(t *testing.T, s *service) {
		open := blocked(t, s)
		address, stop, served := start(t, s)
		c := &http.Client{Transport: new(http.Transport)}
		defer c.CloseIdleConnections()
		var sent sync.WaitGroup
		for i := range 20 {
			sent.Go(func() { check(t, ask(c, "http://"+address, i%outputs)) })
		}
		until(t, func() bool { return s.batcher.Stats().Queued == 20 })
		stop()
		until(t, func() bool {
			conn, err := net.Dial("tcp", address)
			if err == nil {
				conn.Close()
			}
			return err != nil
		})
		if len(served) != 0 {
			t.Error("it ended before its requests")
		}
		open()
		sent.Wait()
		check(t, <-served)
	})
}

// A body that does not arrive must not occupy the service, and must not delay the shutdown longer
// than the timeouts.
func TestBodiesThatStall(t *testing.T) {
	set(t, timeout, 1500*time.Millisecond) // must also allow time for the response on a loaded machine
	each(t, func(t *testing.T, s *service) {
		address, stop, served := start(t, s)
		var asked sync.WaitGroup
		for _, c := range []struct {
			method, path, begin string
			code                int
		}{
			{"POST", "/v1/score", `{"input":[1`, 408},
			{"POST", "/v1/score", `no JSON`, 408},
			{"POST", "/v1/score", list("1"), 408},
			{"POST", "/metrics", "", 405},
			{"GET", "/metrics", "", 200},
		} {
			asked.Go(func() {
				text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n%s", c.method, c.path, c.begin)
				if code, err := stall(address, text, func() {}); err != nil || code != c.code {
					t.Errorf("%s %s %.30q: status %d, want %d, error %v", c.method, c.path, c.begin, code, c.code, err)
				}
			})
		}
		asked.Wait()
		const expects = "POST /v1/score HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"
		if code, err := stall(address, expects, stop); err != nil || code != 408 {
			t.Errorf("at the end: status %d, error %v", code, err)
		}
		check(t, <-served)
	})
}

// stall sends the beginning of a request, sends nothing more, and waits for the response. If the
// request expects a 100-continue response, stall calls reading when the server begins to read the
// body.
func stall(address, begin string, reading func()) (code int, err error) {
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
	from := bufio.NewReader(c)
	for {
		r, err := http.ReadResponse(from, nil)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusContinue {
			return r.StatusCode, err
		}
		reading()
	}
}

// A request that fails must not end the service. Its client must not see the cause.
func TestAnErrorThatTheGPUSurvives(t *testing.T) {
	set(t, listen, "an address") // avoids the self-test, which accepts no failure
	each(t, func(t *testing.T, s *service) {
		secret := errors.New("secret")
		w := httptest.NewRecorder()
		s.handle(func(*http.Request) (any, error) { return nil, secret })(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != 500 || strings.Contains(w.Body.String(), "secret") || s.failed.Err() != nil {
			t.Errorf("status %d: %s; the service ends with %v", w.Code, w.Body, context.Cause(s.failed))
		}
	})
}

func TestLostGPUIsNoticedByARequest(t *testing.T) {
	loses(t, func(s *service) *httptest.ResponseRecorder { return request(s, "POST", "/v1/score", list("1")) })
}

func TestLostGPUIsNoticedByAProbe(t *testing.T) {
	loses(t, func(s *service) *httptest.ResponseRecorder { return request(s, "GET", "/healthz", "") })
}

// loses makes a service lose its GPU. notice sends the first request after the loss. Later requests
// must be refused, the metrics must be readable, and serve must return the cause.
func loses(t *testing.T, notice func(s *service) *httptest.ResponseRecorder) {
	t.Helper()
	set(t, listen, "an address")
	ran := false
	err := demo.Run("emulator", io.Discard, func(d *demo.Demo) error {
		ran = true
		s, err := newService(d)
		if err != nil {
			return err
		}
		if err := d.Lose(); !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_ADDRESS) {
			t.Errorf("it is not lost: %v", err)
		}
		for _, ask := range []func() *httptest.ResponseRecorder{
			func() *httptest.ResponseRecorder { return notice(s) },
			func() *httptest.ResponseRecorder { return request(s, "POST", "/v1/score", list("1")) },
			func() *httptest.ResponseRecorder { return request(s, "GET", "/readyz", "") },
		} {
			if w := ask(); w.Code != 503 || strings.Contains(w.Body.String(), "ILLEGAL") || !strings.Contains(w.Body.String(), "lost") {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
			if s.failed.Err() == nil {
				t.Error("the service goes on")
				return nil
			}
		}
		if w := request(s, "GET", "/metrics", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `service_calls_refused_total{reason="lost"}`) {
			t.Errorf("metrics: status %d: %s", w.Code, w.Body)
		}
		_, _, served := start(t, s)
		if err := <-served; !errors.Is(err, driver.ErrContextLost) || !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_ADDRESS) {
			t.Errorf("serve: %v", err)
		}
		return nil
	})
	if !ran {
		t.Fatal(err)
	}
	// Closing may report only errors of the lost GPU.
	if err != nil && !errors.Is(err, driver.CUDA_ERROR_ILLEGAL_ADDRESS) {
		t.Errorf("closing: %v", err)
	}
}

// A kernel that never ends must fail the probe, because only the end of the process stops it.
func TestStuckCallIsBadHealth(t *testing.T) {
	set(t, timeout, 0)
	each(t, func(t *testing.T, s *service) {
		if w := request(s, "GET", "/healthz", ""); w.Code != 200 {
			t.Errorf("idle: status %d: %s", w.Code, w.Body)
		}
		open := blocked(t, s)
		until(t, func() bool { return s.batcher.Stats().Longest > 0 })
		if w := request(s, "GET", "/healthz", ""); w.Code != 503 || !strings.Contains(w.Body.String(), errStuck.Error()) {
			t.Errorf("with a call that does not end: status %d: %s", w.Code, w.Body)
		}
		open()
	})
}

// No error matches two statuses.
func TestStatusesAreUnambiguous(t *testing.T) {
	for _, err := range []error{serve.ErrBusy, serve.ErrTooLate, context.DeadlineExceeded, new(serve.LostError), new(serve.BusyError),
		fmt.Errorf("%w", driver.ErrClosed), nil} {
		found := map[int]bool{}
		for known, status := range statuses {
			if errors.Is(err, known) {
				found[status] = true
			}
		}
		if len(found) != 1 {
			t.Errorf("%v: statuses %v", err, found)
		}
	}
}
