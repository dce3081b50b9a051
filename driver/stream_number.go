package driver

import "sync/atomic"

var streamNumbers atomic.Uint64

// Number returns a number that is unique among all Streams of the process, even closed ones, and 0
// for a nil stream. Two Streams from BorrowStream for one handle have different numbers. It is for
// packages that store something for a stream without keeping it alive, because the driver reuses
// handles.
func (s *Stream) Number() uint64 {
	if s == nil {
		return 0
	}
	return s.number
}
