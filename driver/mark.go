package driver

import (
	"errors"
	"sync"
)

// mark is an event that the library records to know when the work sent to a
// stream so far is done.
type mark struct {
	core   *contextCore
	raw    CUevent
	holder *Lifetime // of the stream that is waited for; the wait's reference
}

// markPool keeps the marks that are not in use. A wait puts its mark back, so
// there are as many as there ever were waits at a time.
type markPool struct {
	mu   sync.Mutex
	free []*mark
}

// markFlags: no timing, which makes events cheap, and a thread that blocks on
// one sleeps, because whoever waits this way is not in a hurry of microseconds.
const markFlags = uint32(CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC)

// markStream records a mark in s, whose lifetime the caller retained; the mark's
// Done gives that reference back.
func (core *contextCore) markStream(s *Stream) (*mark, error) {
	m, err := core.newMark()
	if err != nil {
		return nil, err
	}
	if err := core.guarded.CuEventRecord(m.raw, s.raw); err != nil {
		core.marks.put(m)
		return nil, err
	}
	m.holder = s.life
	return m, nil
}

func (core *contextCore) newMark() (*mark, error) {
	if m := core.marks.get(); m != nil {
		return m, nil
	}
	m := &mark{core: core}
	if err := core.guarded.CuEventCreate(&m.raw, markFlags); err != nil {
		return nil, err
	}
	return m, nil
}

func (p *markPool) get() *mark {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		return nil
	}
	m := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return m
}

func (p *markPool) put(m *mark) {
	p.mu.Lock()
	p.free = append(p.free, m)
	p.mu.Unlock()
}

// destroy runs when no wait can be left.
func (p *markPool) destroy(d *Driver) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, m := range p.free {
		errs = append(errs, d.CuEventDestroy(m.raw))
	}
	p.free = nil
	return errors.Join(errs...)
}

func (m *mark) poll() (bool, error) { return finished(m.core.guarded.CuEventQuery(m.raw)) }
func (m *mark) block() error        { return m.core.guarded.CuEventSynchronize(m.raw) }

// Done ends the wait that took the mark.
func (m *mark) Done() {
	holder := m.holder
	m.holder = nil
	m.core.marks.put(m)
	holder.Done() // may destroy the context, and with it the pool
}
