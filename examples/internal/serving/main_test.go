package main

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestStatuses(t *testing.T) {
	// The program keeps its weights until it ends, so the test uses the primary context like a program.
	t.Run("emulator", func(t *testing.T) { statuses(t, must(driver.New(emulator.New(emulator.Config{})))) })
	t.Run("gpu", func(t *testing.T) {
		gputest.GPU(t)
		statuses(t, must(driver.Open()))
	})
}

func statuses(t *testing.T, drv *driver.Driver) {
	t.Helper()
	defer drv.Close()
	pool := newScorer(must(must(drv.Device(0)).PrimaryContext()), serve.WithQueue(0))
	defer pool.Close()
	respond := func(body, want string, code int) {
		t.Helper()
		w := httptest.NewRecorder()
		handle(pool, w, httptest.NewRequest("POST", "/score", strings.NewReader(body)))
		if w.Code != code || w.Body.String() != want+"\n" {
			t.Errorf("%s: status %d: %s", body, w.Code, w.Body)
		}
	}
	respond("[1,2,3,4]", "[3,5,7,9]", 200)
	respond("[1]", "the input must be a list of 4 numbers", 400)
	respond("[3e38,2,3,4]", "internal error", 500) // JSON has no infinity
	err := pool.Call(context.Background(), make([]float32, elements), func(output) error {
		respond("[1,2,3,4]", "busy", 429)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	respond("[1,2,3,4]", "shutting down", 503)
}
