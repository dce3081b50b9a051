package graph

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/retain"
)

// current brings the plan up to date with its operations: since the last time
// they may refer to other things, or to some that were closed.
func (p *Plan) current() error {
	for i := range p.kinds {
		k := &p.kinds[i]
		if k.launch != nil && k.uses != uint64(k.launch.Block().Accesses) {
			p.note()
		}
		if k.launch != nil && k.version != k.launch.Block().Version {
			return p.renew()
		}
	}
	own := p.keep.refs
	if !own.Open() {
		return p.renew()
	}
	return nil
}

func (p *Plan) renew() error {
	stale := false
	for i := range p.kinds {
		k := &p.kinds[i]
		stale = stale || k.plain != oneCall(k.op)
	}
	if err := p.refresh(); err != nil {
		return err
	}
	if stale {
		p.layOut()
	}
	return nil
}

// refresh holds what the operations refer to now. Graphs share what was held
// before, so that is left as it is.
func (p *Plan) refresh() error {
	own := retain.New()
	for i := range p.kinds {
		k := &p.kinds[i]
		if err := own.Retain(k.op.Refs()); err != nil {
			own.Release()
			return planError(k.item, k.op, err)
		}
		own.CommitLoose()
	}
	for i := range p.kinds {
		k := &p.kinds[i]
		k.plain = oneCall(k.op)
		if k.launch != nil {
			k.version = k.launch.Block().Version
		}
	}
	p.keep.refs.Release()
	p.keep.refs = own
	return nil
}

// oneCall reports whether one call, of those that batches have, adds op.
func oneCall(op driver.Op) bool {
	switch op := op.(type) {
	case *driver.Launch:
		return len(op.Attributes()) == 0
	case *driver.CopyOp:
		return op.Bytes() != 0
	case *driver.FillOp:
		return op.Bytes() != 0
	}
	return false
}
