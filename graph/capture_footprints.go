package graph

import "github.com/purecuda/cuda/driver"

// recordedUses are the footprints of what was recorded, in order. Which nodes
// the driver made of it is found out when somebody asks (recognise).
type recordedUses struct{ prints *footprints }

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
}

// giveTo hands them to the graph that was recorded. What is left of a capture
// that failed goes to the collector.
func (u *recordedUses) giveTo(g *Graph) {
	if u.prints == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.prints.loose = append(g.prints.loose, u.prints)
	u.prints = nil
}
