package driver

import (
	"github.com/purecuda/cuda/internal/life"
)

// Lifetime returns the stream's ownership record, nil for a nil stream. For a borrowed stream it is
// the context's.
func (s *Stream) Lifetime() *life.Lifetime {
	if s == nil {
		return nil
	}
	return s.life
}
