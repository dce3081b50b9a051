package vm

import (
	"fmt"
	"math/bits"
)

// The check of barriers: all threads of a block must reach them, and each warp as a whole.

// checkBarrier checks a barrier that is about to open.
func (c *cta) checkBarrier(id int) {
	if c.run.opts.Checks&CheckBarriers == 0 {
		return
	}
	b := &c.bars[id]
	for _, w := range c.warps {
		if s, o := w.apart(id); o != nil {
			detail := fmt.Sprintf("other lanes of the warp wait at %s: a warp has to reach a barrier as a whole", w.prog.placeOf(o.pc-1))
			w.findAt(s, detail)
		}
	}
	if w, s := c.waiter(id); s != nil && b.expect == 0 && c.live < int(c.run.threads) {
		who := c.exited()
		detail := fmt.Sprintf("%d of the block's %d threads have exited, thread %v among them, and do not reach the barrier",
			int(c.run.threads)-c.live, c.run.threads, who)
		w.findAt(s, detail)
	}
}

// apart finds two splits of a warp that wait for one barrier at different
// instructions.
func (w *warp) apart(id int) (a, b *split) {
	for i := range w.splits {
		s := &w.splits[i]
		switch {
		case s.wait != waitBarrier || s.bar != int32(id):
		case a == nil:
			a = s
		case s.pc != a.pc:
			return a, s
		}
	}
	return a, nil
}

// waiter returns a split that waits at a barrier.
func (c *cta) waiter(id int) (*warp, *split) {
	for _, w := range c.warps {
		if s, _ := w.apart(id); s != nil {
			return w, s
		}
	}
	return nil, nil
}

// exited returns the first thread that has exited.
func (c *cta) exited() Dim3 {
	for _, w := range c.warps {
		all := full
		if n := int(c.run.threads) - w.id*lanes; n < lanes {
			all = 1<<n - 1
		}
		if gone := all &^ w.live; gone != 0 {
			return w.thread(first(gone))
		}
	}
	return Dim3{}
}

// findAt reports a finding about the barrier at which a split waits.
func (w *warp) findAt(s *split, detail string) {
	f := w.laneFault(FaultBarrier, s.in, bits.TrailingZeros32(s.mask), detail)
	w.find(f, s.pc-1, -1)
}
