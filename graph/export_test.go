package graph

import "github.com/purecuda/cuda/graph/internal/inflight"

// WaitParked waits until what closed execs left to goroutines is done.
func WaitParked() { inflight.Waiting.Wait() }
