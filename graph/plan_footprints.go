package graph

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/access"
)

// note notes what memory the operations use. Graphs see what was noted before,
// so that is left as it is.
func (p *Plan) note() {
	if p.kindOf == nil {
		p.number()
	}
	f := access.OfPlan(p.kindOf, len(p.kinds))
	for i := range p.kinds {
		k := &p.kinds[i]
		if k.launch == nil {
			f.EnterNone()
			continue
		}
		f.Enter(k.launch)
		k.uses = uint64(k.launch.Block().Accesses)
	}
	p.accesses = f
}

// number finds the kind of each item.
func (p *Plan) number() {
	numbers := make(map[driver.Op]uint32, len(p.kinds))
	for i := range p.kinds {
		numbers[p.kinds[i].op] = uint32(i + 1)
	}
	p.kindOf = make([]uint32, len(p.ops))
	for i, op := range p.ops {
		p.kindOf[i] = numbers[op]
	}
}
