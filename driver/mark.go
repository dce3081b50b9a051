package driver

import (
	"errors"
	"sync"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// mark is an event that the library records to learn when the work enqueued in a stream so far is
// done.
type mark struct {
	core   *contextCore
	raw    CUevent
	holder *life.Lifetime // of the stream that is waited for; the wait's reference
}

// markPool holds the unused events. A wait returns its event, so their number is the largest number
// of simultaneous waits.
type markPool struct {
	mu   sync.Mutex
	free []*mark
}

// markFlags returns flags for cheap events. A thread that blocks on one spins or sleeps as the
// context's flags say.
func (core *contextCore) markFlags() (uint32, error) {
	sleeps, err := core.sleeps()
	if sleeps {
		return uint32(cu.CU_EVENT_DISABLE_TIMING | cu.CU_EVENT_BLOCKING_SYNC), err
	}
	return uint32(cu.CU_EVENT_DISABLE_TIMING), err
}

// The values of contextCore.sched.
const (
	schedUnknown = iota
	schedSpins
	schedSleeps
)

// sleeps reports whether the context's flags make waiting threads sleep. It queries the driver
// once.
func (core *contextCore) sleeps() (bool, error) {
	sched := core.sched.Load()
	if sched == schedUnknown {
		sched = schedSpins
		if core.guarded.Has(cu.FnCuCtxGetFlags) {
			var flags uint32
			if err := core.guarded.CuCtxGetFlags(&flags); err != nil {
				return false, err
			}
			if cu.CUctx_flags(flags)&cu.CU_CTX_SCHED_MASK == cu.CU_CTX_SCHED_BLOCKING_SYNC {
				sched = schedSleeps
			}
		}
		core.sched.Store(sched)
	}
	return sched == schedSleeps, nil
}

// markStream records an event in s, which the caller retained. The mark's Done releases that
// reference.
func (core *contextCore) markStream(s *Stream) (*mark, error) {
	m, err := core.newMark()
	if err != nil {
		return nil, err
	}
	if err := s.guardedSelf().CuEventRecord(m.raw, s.raw); err != nil {
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
	flags, err := core.markFlags()
	if err != nil {
		return nil, err
	}
	m := &mark{core: core}
	if err := core.guarded.CuEventCreate(&m.raw, flags); err != nil {
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
func (p *markPool) destroy(d *cu.Driver) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, m := range p.free {
		errs = append(errs, d.CuEventDestroy(m.raw))
	}
	p.free = nil
	return errors.Join(errs...)
}

func (m *mark) poll() (bool, error) { return finished(m.core.loose.CuEventQuery(m.raw)) }
func (m *mark) block() error        { return m.core.guarded.CuEventSynchronize(m.raw) }

// sleeps depends on the context, as for cuStreamSynchronize.
func (m *mark) sleeps() (bool, error) { return m.core.sleeps() }

// Done ends the wait that took the mark.
func (m *mark) done() {
	holder := m.holder
	m.holder = nil
	m.core.marks.put(m)
	holder.Done() // may destroy the context, and with it the pool
}
