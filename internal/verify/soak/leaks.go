package main

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/purecuda/cuda/driver"
)

// leaks collects objects that were dropped without Close.
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

// settled returns the objects that are still open after up to 2 s. Cleanups run on their own
// goroutine, and a launch that no goroutine waited for retains its objects until the library
// detects its end.
func settled() (open []driver.Leak) {
	for start := time.Now(); time.Since(start) < 2*time.Second; time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		if open = driver.OpenObjects(); len(open) == 0 && time.Since(start) > 30*time.Millisecond {
			break
		}
	}
	return open
}

// finish runs the garbage collector until it has found all unreachable objects. If objects were
// dropped or are still open, it returns an error with their number and the name of one of them.
func (l *leaks) finish(out io.Writer) error {
	defer driver.SetLeakHook(nil)
	open := settled()
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(out, "%d handles dropped without Close, %d left open\n", len(l.dropped), len(open))
	if all := append(l.dropped, open...); len(all) > 0 {
		return fmt.Errorf("%d handles leaked, for example: %v", len(all), all[0])
	}
	return nil
}
