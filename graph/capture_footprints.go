package graph

import "github.com/purecuda/cuda/driver"

// recordedUses are the footprints of the recorded operations, in order. Their nodes are resolved
// lazily (recognise).
type recordedUses struct {
	prints *footprints
	noted  uint64        // of the latest launch in prints: its AccessesVersion
	bursts []*footprints // what each burst noted by itself
	room   [1]*footprints
}

// burst takes over what a burst noted.
func (u *recordedUses) burst(prints *footprints) {
	if len(prints.of) == 0 {
		prints.recycle()
		return
	}
	if u.bursts == nil {
		u.bursts = u.room[:0]
	}
	u.bursts = append(u.bursts, prints)
}

// note notes an operation that was recorded.
func (u *recordedUses) note(op driver.Op) {
	l, ok := op.(*driver.Launch)
	if !ok {
		return
	}
	if u.prints == nil {
		u.prints = newFootprints()
	}
	u.prints.launch(len(u.prints.of), l)
	u.noted = l.AccessesVersion()
}

// are reports whether the latest launch that was noted refers to what l does.
func (u *recordedUses) are(l *driver.Launch) bool {
	return l != nil && u.prints != nil && u.noted == l.AccessesVersion()
}

// giveTo hands them to the graph that was recorded. What is left of a capture
// that failed goes to the collector.
func (u *recordedUses) giveTo(g *Graph) {
	if u.prints != nil {
		u.bursts = append(u.bursts, u.prints)
	}
	if len(u.bursts) == 0 {
		return
	}
	g.lockLatch()
	defer g.mu.Unlock()
	g.prints.loose = append(g.prints.loose, u.bursts...)
	*u = recordedUses{}
}
