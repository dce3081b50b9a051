package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/purecuda/cuda/driver"
)

// pools allocates and frees memory in stream order, from its own pool.
func (e *example) pools() error {
	pool, err := e.Context.NewMemPool()
	if err != nil {
		return err
	}
	e.Close(pool)
	// By default, a pool returns all unused memory to the driver at each synchronization.
	if err := pool.SetReleaseThreshold(math.MaxUint64); err != nil {
		return err
	}
	if err := e.inOrder(pool); err != nil {
		return err
	}
	// The pool counts memory as unused only after a synchronizing call finds that the stream
	// has passed the free.
	if err := e.Context.Synchronize(context.Background()); err != nil {
		return err
	}
	freed, err := pool.Stats()
	if err != nil {
		return err
	}
	if err := pool.Trim(0); err != nil {
		return err
	}
	trimmed, err := pool.Stats()
	if err != nil {
		return err
	}
	e.Printf("after the frees the pool has %d bytes in use and keeps %d KiB; trimmed, it keeps %d KiB",
		freed.Used, freed.Reserved>>10, trimmed.Reserved>>10)
	if freed.Used != 0 || freed.Reserved == 0 || trimmed.Reserved != 0 {
		return fmt.Errorf("the pool should have nothing in use, keep something, and nothing after the trim: %+v, %+v", freed, trimmed)
	}
	return e.costs(pool)
}

// inOrder computes a result with two temporary buffers. Allocation and free are ordered like
// other work in the stream, so the host need not wait.
func (e *example) inOrder(pool *driver.MemPool) error {
	var tmp [2]*driver.Buffer[float32]
	for i := range tmp {
		var err error
		if tmp[i], err = driver.AllocFromPool[float32](e.Stream, pool, elements); err != nil {
			return err
		}
		e.Close(tmp[i]) // for early returns; after FreeAsync it does nothing
	}
	ops, err := e.program(tmp[0], tmp[1])
	if err != nil {
		return err
	}
	for _, op := range ops {
		if err := e.Stream.Do(op); err != nil {
			return err
		}
	}
	used, err := pool.Stats()
	if err != nil {
		return err
	}
	if err := errors.Join(tmp[0].FreeAsync(e.Stream), tmp[1].FreeAsync(e.Stream)); err != nil {
		return err
	}
	e.Printf("stream-ordered: two allocations, %d KiB of the pool in use", used.Used>>10)
	return e.is(7)
}

// costs compares an allocation from the driver with an allocation from a pool that has free
// memory.
func (e *example) costs(pool *driver.MemPool) error {
	rounds, large := 100, 16<<20 // 16<<20 float32 elements are 64 MiB
	if e.Emulated {
		rounds, large = 2, 1000
	}
	begin := time.Now()
	for range rounds {
		b, err := driver.Alloc[float32](e.Context, large)
		if err != nil {
			return err
		}
		if err := b.Close(); err != nil {
			return err
		}
	}
	atOnce := time.Since(begin) / time.Duration(rounds)
	begin = time.Now()
	for range rounds {
		b, err := driver.AllocFromPool[float32](e.Stream, pool, large)
		if err != nil {
			return err
		}
		if err := b.Close(); err != nil { // freed in the stream that allocated it
			return err
		}
	}
	inOrder := time.Since(begin) / time.Duration(rounds)
	if !e.Emulated {
		e.Printf("%d MiB allocated and freed: %v at once, %v from the pool", large*4>>20, atOnce, inOrder)
	}
	return e.Stream.Wait(context.Background())
}
