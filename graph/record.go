package graph

import (
	"slices"

	"github.com/purecuda/cuda/driver"
)

// Way is how a graph was made of a list of operations.
type Way uint8

// The ways.
const (
	ByCapture Way = iota // recorded from a stream
	ByHand               // node by node
)

// String names the way.
func (w Way) String() string {
	if w == ByHand {
		return "by hand"
	}
	return "by capture"
}

// Record makes a graph of operations that run one after the other. It captures
// them on s, or, where s cannot be captured now (it is the legacy stream, or is
// capturing already), adds them by hand; it says which. The results are the
// same. That is why operations on events are added by hand, too: a capture takes
// them for orders between its streams, and its replays would leave the event
// alone.
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
