package graph

import "github.com/purecuda/cuda/driver"

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
// same.
func Record(s *driver.Stream, ops ...driver.Op) (*Graph, Way, error) {
	if err := s.Ready(); err != nil {
		return nil, ByCapture, err
	}
	can, err := free(s)
	if err != nil {
		return nil, ByCapture, err
	}
	if !can {
		g, err := byHand(s.Context(), ops)
		return g, ByHand, err
	}
	g, err := Capture(s, ModeRelaxed, func(sc *Scope) error {
		return sc.DoAll(ops...)
	})
	return g, ByCapture, err
}

// free reports whether a capture can begin on s.
func free(s *driver.Stream) (bool, error) {
	if capturable(s) != nil {
		return false, nil
	}
	status, _, err := s.CaptureStatus()
	return status == driver.CU_STREAM_CAPTURE_STATUS_NONE, err
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
