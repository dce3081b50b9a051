package driver

import "sync/atomic"

var streamNumbers atomic.Uint64

// Number is a number that no other Stream of the process has, also after this one
// is closed; 0 for a nil stream. It is for packages that keep something for a
// stream without keeping the stream: handles are given again by the driver. Two
// Streams for one handle, of BorrowStream, have two numbers.
func (s *Stream) Number() uint64 {
	if s == nil {
		return 0
	}
	return s.number
}
