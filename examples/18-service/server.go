package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/driver"
)

// server handles the HTTP requests and passes them to the pool.
type server struct {
	pool    *pool
	context *driver.Context
	metrics *metrics
	log     *slog.Logger

	timeout  time.Duration // for one request
	drain    time.Duration // for requests in flight at shutdown
	draining atomic.Bool
}

type (
	request  struct{ Input []float32 }
	response struct {
		Scores []float32 `json:"scores"`
		Label  int       `json:"label"`
	}
)

// statusClientGone is the status that nginx logs if the client closed the connection.
const statusClientGone = 499

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/score", s.serveScore)
	mux.HandleFunc("GET /metrics", s.serveMetrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { s.serveHealth(w, s.pool.health()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { s.serveHealth(w, s.ready()) })
	return mux
}

func (s *server) serveScore(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	s.metrics.inFlight.Add(1)
	defer s.metrics.inFlight.Add(-1)
	answer, err := s.score(w, r)
	var body []byte
	if err == nil {
		body, err = json.Marshal(answer) // before the status is written: it can fail
	}
	code := statusOf(err)
	s.metrics.answered(code, time.Since(begin))
	if err != nil {
		s.refuse(w, code, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(append(body, '\n')); err != nil {
		s.log.Debug("answer not sent", "error", err)
	}
}

func (s *server) score(w http.ResponseWriter, r *http.Request) (response, error) {
	if s.draining.Load() {
		return response{}, errDraining
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
	defer cancel()
	input, err := read(w, r)
	if err != nil {
		return response{}, &badRequest{err}
	}
	scores, err := s.pool.score(ctx, input)
	if err != nil {
		return response{}, err
	}
	for _, v := range scores {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return response{}, errNotFinite // JSON has no infinity or NaN
		}
	}
	return response{scores, largest(scores)}, nil
}

// read reads the whole body, within the server's ReadTimeout. It then removes the read
// deadline. The server continues to read from the connection, to detect when the client
// disconnects.
func read(w http.ResponseWriter, r *http.Request) ([]float32, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<16))
	if err != nil {
		return nil, err
	}
	if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err // ErrNotSupported means that there is no deadline to remove
	}
	var in request
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if len(in.Input) != inputs {
		return nil, fmt.Errorf("input has %d numbers, it should have %d", len(in.Input), inputs)
	}
	return in.Input, nil
}

func largest(scores []float32) (at int) {
	for i, v := range scores {
		if v > scores[at] {
			at = i
		}
	}
	return at
}

type badRequest struct{ error }

func (e *badRequest) Unwrap() error { return e.error }

// statusOf returns the HTTP status for the error of a request.
func statusOf(err error) int {
	var bad *badRequest
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded): // the body was not received in time
		return http.StatusRequestTimeout
	case errors.As(err, &bad):
		return http.StatusBadRequest
	case errors.Is(err, errNotFinite):
		return http.StatusUnprocessableEntity
	case errors.Is(err, errBusy):
		return http.StatusTooManyRequests
	case errors.Is(err, errDraining), errors.Is(err, errLost):
		return http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	case errors.Is(err, context.Canceled):
		return statusClientGone
	}
	return http.StatusInternalServerError
}

// refuse sends an error response. It logs the driver's message instead of sending it to
// clients.
func (s *server) refuse(w http.ResponseWriter, code int, err error) {
	text := err.Error()
	switch code {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusInternalServerError:
		s.log.Error("request failed", "error", err)
		text = "the service could not compute it"
	}
	http.Error(w, text, code)
}

func (s *server) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	var memory []gauge
	if free, total, err := s.context.MemInfo(); err == nil {
		memory = []gauge{
			{"service_device_memory_free_bytes", "Device memory that is free.", free},
			{"service_device_memory_total_bytes", "Device memory in all.", total},
		}
	} else { // the other metrics show that the GPU is lost
		s.pool.note(err)
		s.log.Warn("metrics without the device's memory", "error", err)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s.metrics.write(w, memory...)
}

func (s *server) serveHealth(w http.ResponseWriter, err error) {
	if err != nil {
		s.log.Warn("not well", "error", err)
		text := err.Error()
		if errors.Is(err, errLost) { // errLost wraps the driver's error, which clients must not see
			text = errLost.Error()
		}
		http.Error(w, text, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// ready returns an error if the service should not receive requests. A service that is
// shutting down is healthy but not ready.
func (s *server) ready() error {
	if s.draining.Load() {
		return errDraining
	}
	return s.pool.health()
}

// serve serves until ctx ends or the GPU is lost. If the GPU is lost, serve returns that
// error. Requests in flight are completed.
func (s *server) serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{Handler: s.handler(), IdleTimeout: time.Minute,
		// Without timeouts, clients that send or read slowly would delay the shutdown.
		ReadHeaderTimeout: s.timeout, ReadTimeout: s.timeout, WriteTimeout: 2 * s.timeout,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	s.log.Info("serving", "address", l.Addr().String(), "workers", len(s.pool.workers))
	// [ending]
	var err error
	select {
	case err = <-ended:
		return errors.Join(err, h.Close())
	case <-s.pool.gone:
		err = s.pool.isLost()
		s.log.Error("ending, so that a new process starts", "error", err)
	case <-ctx.Done():
		s.log.Info("shutting down", "cause", context.Cause(ctx).Error())
	}
	err = errors.Join(err, s.shutdown(h))
	// [end]
	<-ended
	s.log.Info("ended")
	return err
}

func (s *server) shutdown(h *http.Server) error {
	s.draining.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), s.drain)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("not all requests were answered within %v: %w", s.drain, err), h.Close())
	}
	return nil
}
