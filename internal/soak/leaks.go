package main

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/purecuda/cuda/driver"
)

// leaks collects the objects that were dropped without Close.
type leaks struct {
	mu      sync.Mutex
	dropped []driver.Leak
}

func watchLeaks() *leaks {
	l := &leaks{}
	driver.SetLeakHook(func(leak driver.Leak) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.dropped = append(l.dropped, leak)
	})
	return l
}

// finish has the collector find what is unreachable and returns an error with
// the first of the objects that were dropped or are still open.
func (l *leaks) finish(out io.Writer) error {
	defer driver.SetLeakHook(nil)
	for range 3 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond) // cleanups run on their own goroutine
	}
	open := driver.OpenObjects()
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(out, "%d handles dropped without Close, %d left open\n", len(l.dropped), len(open))
	if all := append(l.dropped, open...); len(all) > 0 {
		return fmt.Errorf("%d handles leaked, for example: %v", len(all), all[0])
	}
	return nil
}
