package guides

import (
	"context"
	"sync"

	"github.com/purecuda/cuda/driver"
)

// [cgo]

// inParallel runs work on many goroutines, each with its own stream. No goroutine is locked
// to a thread or sets a context.
func inParallel(ctx *driver.Context, goroutines int, work func(*driver.Stream) error) error {
	var all sync.WaitGroup
	errs := make(chan error, goroutines)
	for range goroutines {
		all.Go(func() {
			s, err := ctx.NewStream()
			if err != nil {
				errs <- err
				return
			}
			defer s.Close()
			if err := work(s); err != nil {
				errs <- err
				return
			}
			errs <- s.Wait(context.Background())
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// [end]
