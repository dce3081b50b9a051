package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/cache"
)

//go:embed affine.ptx
var affinePTX []byte

// soak is the state that all workers share.
type soak struct {
	context *driver.Context
	module  *driver.Module
	affine  *driver.Kernel
	streams []*driver.Stream
	cache   *cache.Cache
	kinds   string // kinds of graph rounds to run; "" means all
	counts  counts
	task    func(s *soak, ctx context.Context, i int) error // work of goroutine i, which returns when ctx ends
}

var tasks = map[string]func(s *soak, ctx context.Context, i int) error{
	"launches": (*soak).work,
	"graphs":   (*soak).workGraphs,
}

type counts struct {
	results, launches, copies, allocations, collections atomic.Int64
	graphs                                              graphCounts
}

func (c *counts) String() string {
	text := fmt.Sprintf("%d results verified, %d launches, %d copies, %d allocations, %d collections",
		c.results.Load(), c.launches.Load(), c.copies.Load(), c.allocations.Load(), c.collections.Load())
	return text + c.graphs.String()
}

func newSoak(c *driver.Context, o options) (*soak, error) {
	s := &soak{context: c, task: tasks[o.task], kinds: o.kinds}
	if err := s.build(o.streams); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *soak) build(streams int) (err error) {
	if s.module, err = s.context.LoadModule(affinePTX); err != nil {
		return err
	}
	if s.affine, err = s.module.Kernel("affine"); err != nil {
		return err
	}
	if s.cache, err = cache.New(s.context); err != nil {
		return err
	}
	for range streams {
		stream, err := s.context.NewStream()
		if err != nil {
			return err
		}
		s.streams = append(s.streams, stream)
	}
	return nil
}

// Close closes the streams, the cache and the module.
func (s *soak) Close() error {
	var errs []error
	for _, stream := range s.streams {
		errs = append(errs, stream.Close())
	}
	return errors.Join(append(errs, s.cache.Close(), s.module.Close())...)
}

// run runs the workers until ctx ends or one worker fails.
func (s *soak) run(ctx context.Context, workers int) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			if err := s.task(s, ctx, i); err != nil {
				fail(fmt.Errorf("goroutine %d: %w", i, err))
			}
		})
	}
	collector := make(chan struct{})
	go func() {
		defer close(collector)
		for ctx.Err() == nil {
			runtime.GC()
			s.counts.collections.Add(1)
		}
	}()
	wg.Wait()
	<-collector
	return failure(ctx)
}

// failure returns the error that ended ctx, or nil if the time was up or the user ended the run.
func failure(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, context.Canceled) {
		return nil
	}
	return cause
}
