package graph

// note notes what memory the operations use. Graphs see what was noted before,
// so that is left as it is.
func (p *Plan) note() {
	f := &footprints{of: p.kindOf, list: make([]footprint, 0, len(p.kinds))}
	for i := range p.kinds {
		k := &p.kinds[i]
		if k.launch == nil {
			f.list = append(f.list, footprint{})
			continue
		}
		f.enter(k.launch)
		k.uses = k.launch.AccessesVersion()
	}
	p.prints = f
}
