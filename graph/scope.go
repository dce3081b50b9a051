package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// Scope records operations on one stream of an open capture. It takes
// operations that neither allocate nor free: an address would change between
// replays, which the types of package driver rule out. A Scope may be used from
// several goroutines, and by none after its capture ended.
type Scope struct {
	r     *Recording
	s     *driver.Stream
	event *driver.Event // for forks and joins; made when needed
	open  bool          // forked, and used since it was joined last
}

// Stream returns the stream that is captured. What is sent to it past the Scope
// is recorded as well, but the graph does not know what it refers to: see Keep.
func (sc *Scope) Stream() *driver.Stream { return sc.s }

// Mode returns the mode of the capture.
func (sc *Scope) Mode() Mode { return sc.r.mode }

// Do records an operation. The graph keeps alive what it refers to.
func (sc *Scope) Do(op driver.Op) error {
	if op == nil {
		return invalid("nil operation for the capture of %v", sc.s)
	}
	r := sc.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return sc.endedError()
	}
	if err := r.own.hold(op.Refs()); err != nil {
		return fmt.Errorf("%v: %w", op, err)
	}
	if err := sc.s.Do(op); err != nil {
		r.own.abandon()
		r.note(op, err)
		return err
	}
	r.own.commitLoose()
	r.uses.note(op)
	sc.open = sc.open || sc != &r.scope
	return nil
}

// Keep has the graph keep alive what work refers to that was recorded past the
// Scope.
func (sc *Scope) Keep(refs ...driver.Ref) error {
	r := sc.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return sc.endedError()
	}
	return r.own.holdLoose(refs)
}

// Status returns the state of the capture and its number, which is unique in
// the process.
func (sc *Scope) Status() (status driver.CUstreamCaptureStatus, id uint64, err error) {
	return sc.s.CaptureStatus()
}

// note remembers the first operation that failed: it is what invalidated the
// capture, if something did.
func (r *Recording) note(op driver.Op, err error) {
	if r.first == nil {
		r.first = fmt.Errorf("%v failed: %w", op, err)
	}
}

func (sc *Scope) endedError() error {
	return fmt.Errorf("capture of %v: %w", sc.s, ErrEnded)
}
