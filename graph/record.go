package graph

import (
	"slices"

	"github.com/purecuda/cuda/driver"
)

// Way is how Record created a graph.
type Way uint8

// The ways.
const (
	ByCapture Way = iota // recorded from a stream
	ByHand               // node by node
)

// String returns the name of the way.
func (w Way) String() string {
	if w == ByHand {
		return "by hand"
	}
	return "by capture"
}

// Record creates a graph of operations that run one after the other, and returns how. It captures
// them on s. If s cannot be captured now (it is the legacy stream, or is already capturing), it
// adds them by hand. The results are the same. Operations on events are also added by hand: a
// capture would treat them as orders between its streams, and replays would not record or wait for
// the event.
func Record(s *driver.Stream, ops ...driver.Op) (*Graph, Way, error) {
	if err := s.Ready(); err != nil {
		return nil, ByCapture, err
	}
	if slices.ContainsFunc(ops, aboutEvent) {
		g, err := byHand(s.Context(), ops)
		return g, ByHand, err
	}
	r, err := begin(target{}, s, ModeRelaxed)
	if impossible(err) {
		g, err := byHand(s.Context(), ops)
		return g, ByHand, err
	}
	if err != nil {
		return nil, ByCapture, err
	}
	defer r.abandon()
	g, err := r.end(r.scope.DoAll(ops...))
	return g, ByCapture, err
}

func aboutEvent(op driver.Op) bool {
	switch op.(type) {
	case *driver.EventRecordOp, *driver.EventWaitOp:
		return true
	}
	return false
}

// impossible reports whether an error is that a stream cannot be captured, and
// no other.
func impossible(err error) bool {
	switch resultOf(err) {
	case driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, driver.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
		driver.CUDA_ERROR_ILLEGAL_STATE, driver.CUDA_ERROR_NOT_SUPPORTED:
		return true
	}
	return false
}

func byHand(c *driver.Context, ops []driver.Op) (*Graph, error) {
	g, err := New(c)
	if err != nil {
		return nil, err
	}
	if _, err := g.AddChain(nil, ops); err != nil {
		return nil, join([]error{err, g.Close()})
	}
	return g, nil
}
