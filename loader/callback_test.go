package loader

import (
	"runtime"
	"testing"
)

// A callback that ends its goroutine must still return to C, and the next callback must run.
func TestCallbacksSurviveGoexit(t *testing.T) {
	ran := 0
	for i := range 20 {
		callApart(func(userData uintptr) {
			ran += int(userData)
			if i%2 == 0 {
				runtime.Goexit()
			}
		}, 1)
	}
	if ran != 20 {
		t.Errorf("%d of 20 callbacks ran", ran)
	}
}

// Concurrent and nested callbacks must not wait for each other.
func TestCallbacksRunAtTheSameTime(t *testing.T) {
	const n = 8
	all, done := make(chan struct{}), make(chan struct{})
	begun := make(chan struct{}, n)
	for range n {
		go func() {
			callApart(func(uintptr) {
				callApart(func(uintptr) { begun <- struct{}{} }, 0)
				<-all
			}, 0)
			done <- struct{}{}
		}()
	}
	for range n {
		<-begun
	}
	close(all)
	for range n {
		<-done
	}
}
