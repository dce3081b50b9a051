package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// ForkJoin forks to each of the streams, has record record on each in turn, and
// joins them all: what is recorded on one runs side by side with the rest, and
// what the scope records afterwards runs behind all of it. The streams may be
// the same for several calls.
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

// Parallel has what each of the functions records run side by side, without
// other streams: each starts behind what was recorded in the scope so far, and
// what the scope records afterwards runs behind all of them. Meanwhile nobody
// else may record in the scope.
func (sc *Scope) Parallel(branches ...func(*Scope) error) error {
	start, err := sc.Pending()
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
	if err := sc.SetPending(ends...); err != nil {
		return fmt.Errorf("join of %d branches: %w", len(branches), err)
	}
	return nil
}

// branch returns where what record records ends.
func (sc *Scope) branch(start []Edge, record func(*Scope) error) ([]Edge, error) {
	if err := sc.SetPending(start...); err != nil {
		return nil, err
	}
	if err := record(sc); err != nil {
		return nil, err
	}
	return sc.Pending()
}
