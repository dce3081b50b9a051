package driver

// sendPeer copies between contexts. The driver's function for that fails in captures (error 900,
// seen on driver 580), so a captured copy names no contexts. Unified addressing finds them by the
// addresses.
func (o *CopyOp) sendPeer(s *Stream) error {
	capturing, err := s.recording()
	if err != nil {
		return err
	}
	if capturing {
		return s.self.CuMemcpyAsync(o.dst, o.src, o.bytes, s.raw)
	}
	return s.d.CuMemcpyPeerAsync(o.dst, o.ctx.Raw(), o.src, o.other.Raw(), o.bytes, s.raw)
}
