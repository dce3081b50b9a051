package driver

// Lifetime is the stream's ownership record, nil for a nil stream. That of a
// stream which the library does not own is its context's.
func (s *Stream) Lifetime() *Lifetime {
	if s == nil {
		return nil
	}
	return s.life
}
