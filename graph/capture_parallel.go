package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// ForkJoin forks to each of the streams, calls record for each in turn, and joins them all. What is
// recorded on one stream runs concurrently with the others. What the scope records afterwards runs
// after all of it. Several calls may use the same streams.
func (sc *Scope) ForkJoin(streams []*driver.Stream, record func(i int, branch *Scope) error) error {
	if err := sc.check(); err != nil {
		return err
	}
	if record == nil {
		return invalid("capture of %v: no function to record", sc.s)
	}
	forks := make([]*Scope, 0, len(streams))
	for _, s := range streams {
		f, err := sc.Fork(s)
		if err != nil {
			return join([]error{err, sc.Join(forks...)})
		}
		forks = append(forks, f)
	}
	for i, f := range forks {
		if err := record(i, f); err != nil {
			return join([]error{err, sc.Join(forks...)})
		}
	}
	return sc.Join(forks...)
}

// Parallel makes what each function records run concurrently, without other streams. Each branch
// starts after the work recorded in the scope so far. What the scope records afterwards runs after
// all branches. Nothing else may record in the scope until Parallel returns.
func (sc *Scope) Parallel(branches ...func(*Scope) error) error {
	start, err := sc.Dependencies()
	if err != nil || len(branches) == 0 {
		return err
	}
	ends := make([]Edge, 0, len(branches))
	for i, record := range branches {
		if record == nil {
			return invalid("capture of %v: branch %d is no function", sc.s, i)
		}
		end, err := sc.branch(start, record)
		if err != nil {
			return err
		}
		ends = append(ends, end...)
	}
	if err := sc.SetDependencies(ends...); err != nil {
		return fmt.Errorf("join of %d branches: %w", len(branches), err)
	}
	return nil
}

// branch returns where what record records ends.
func (sc *Scope) branch(start []Edge, record func(*Scope) error) ([]Edge, error) {
	if err := sc.SetDependencies(start...); err != nil {
		return nil, err
	}
	if err := record(sc); err != nil {
		return nil, err
	}
	return sc.Dependencies()
}
