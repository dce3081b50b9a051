package access

import "github.com/purecuda/cuda/driver"

// Recorded contains the access sets of recorded operations, in order.
type Recorded struct {
	sets   *Sets
	noted  uint64  // AccessesVersion of the latest launch in sets
	bursts []*Sets // sets of each burst
	room   [1]*Sets
}

// Repeat records that the latest launch was recorded again.
func (u *Recorded) Repeat() { u.sets.repeat() }

// Burst takes ownership of the sets of a burst.
func (u *Recorded) Burst(sets *Sets) {
	if sets.Noted() == 0 {
		sets.Recycle()
		return
	}
	if u.bursts == nil {
		u.bursts = u.room[:0]
	}
	u.bursts = append(u.bursts, sets)
}

// Note records the accesses of op if op is a launch, and ignores other operations.
func (u *Recorded) Note(op driver.Op) {
	l, ok := op.(*driver.Launch)
	if !ok {
		return
	}
	if u.sets == nil {
		u.sets = New()
	}
	u.sets.Launch(u.sets.Noted(), l)
	u.noted = uint64(l.Block().Accesses)
}

// IsLatest reports whether l has the same accesses and references as the latest launch passed to
// Note.
func (u *Recorded) IsLatest(l *driver.Launch) bool {
	return l != nil && u.sets != nil && u.noted == uint64(l.Block().Accesses)
}

// Empty reports whether no accesses were recorded.
func (u *Recorded) Empty() bool { return u.sets == nil && len(u.bursts) == 0 }

// GiveTo moves all sets to p.Loose, which matches them to nodes lazily.
func (u *Recorded) GiveTo(p *Sets) {
	p.Loose = append(p.Loose, u.bursts...)
	if u.sets != nil {
		p.Loose = append(p.Loose, u.sets)
	}
	*u = Recorded{}
}
