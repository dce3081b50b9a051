package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/purecuda/cuda/driver"
)

const (
	maxWords    = 4096
	maxLaunches = 8
	blockSize   = 128
)

// worker is one goroutine's part of a soak.
type worker struct {
	soak   *soak
	stream *driver.Stream
	event  *driver.Event
	host   *driver.HostBuffer[uint32] // source and destination of copies
	random *rand.Rand
	round  int
}

// work runs rounds of random work until ctx ends.
func (s *soak) work(ctx context.Context, i int) (err error) {
	w := &worker{soak: s, stream: s.streams[i%len(s.streams)], random: rand.New(rand.NewPCG(1, uint64(i)))}
	if w.event, err = s.context.NewEvent(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.event.Close()) }()
	if w.host, err = driver.AllocHost[uint32](s.context, maxWords); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.host.Close()) }()
	for w.round = 0; ctx.Err() == nil; w.round++ {
		if err := w.once(); err != nil {
			return fmt.Errorf("round %d: %w", w.round, err)
		}
	}
	return nil
}

// once allocates device memory in one of several ways, computes in it and frees it.
func (w *worker) once() error {
	n := 1 + w.random.IntN(maxWords)
	w.soak.counts.allocations.Add(1)
	if w.round%8 == 0 { // this way of allocating synchronises the device
		b, err := driver.Alloc[uint32](w.soak.context, n)
		if err != nil {
			return err
		}
		return errors.Join(w.compute(b, n), b.Close())
	}
	b, err := driver.AllocAsync[uint32](w.stream, n)
	if err != nil {
		return err
	}
	return errors.Join(w.compute(b, n), b.Close())
}

// compute runs several launches on random words and checks the results.
func (w *worker) compute(b *driver.Buffer[uint32], n int) error {
	words := w.host.View(0, n)
	want := make([]uint32, n) // becomes garbage, so that the collector has work
	for i := range want {
		want[i] = w.random.Uint32()
	}
	copy(words.Slice(), want)
	if err := w.copy(driver.Upload(b, words)); err != nil {
		return err
	}
	for range 1 + w.random.IntN(maxLaunches) {
		factor, summand := w.random.Uint32(), w.random.Uint32()
		cfg := driver.LaunchConfig{Grid: driver.Blocks(n, blockSize), Block: driver.D1(blockSize)}
		if err := w.soak.affine.Launch(w.stream, cfg, b, factor, summand, uint32(n)); err != nil {
			return err
		}
		w.soak.counts.launches.Add(1)
		for i := range want {
			want[i] = want[i]*factor + summand
		}
	}
	if err := w.copy(driver.Download(words, b)); err != nil {
		return err
	}
	if err := w.wait(); err != nil {
		return err
	}
	return w.verify(words.Slice(), want)
}

func (w *worker) copy(op *driver.CopyOp, err error) error {
	if err != nil {
		return err
	}
	w.soak.counts.copies.Add(1)
	return w.stream.Do(op)
}

// wait alternates between waiting for the stream and for an event.
func (w *worker) wait() error {
	if w.round%2 == 0 {
		return w.stream.Wait(context.Background())
	}
	if err := w.stream.Record(w.event); err != nil {
		return err
	}
	return w.event.Wait(context.Background())
}

func (w *worker) verify(got, want []uint32) error {
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("word %d of %d is %#x, want %#x", i, len(want), got[i], want[i])
		}
	}
	w.soak.counts.results.Add(1)
	return nil
}
