package vm

import "github.com/purecuda/cuda/ptx"

// Asynchronous copies that are made late. A launch with a seed, which permutes
// what a program must not rely on, does not make a copy where it is issued
// but where it is waited for, and of those that tell an mbarrier object only
// some at each look at one. A program that reads what it has not waited for
// then finds what was there before.

// lateKind is how a copy is waited for.
type lateKind uint8

const (
	lateAsync   lateKind = iota // cp.async, in groups of the thread
	lateBulk                    // cp.async.bulk, in groups of the thread
	lateBarrier                 // through an mbarrier object
	lateGroups  = int(lateBarrier)
)

// lateCopy is a copy that was issued by a thread and not yet made.
type lateCopy struct {
	w     *warp
	lane  int
	kind  lateKind
	group uint32 // how many groups the thread had committed before
	do    func()
}

// delays reports whether copies are made late.
func (w *warp) delays() bool { return w.cta.run.opts.Seed != 0 }

// later keeps a copy of lane i until it is due.
func (w *warp) later(kind lateKind, i int, do func()) {
	c := lateCopy{w: w, lane: i, kind: kind, do: do}
	if kind != lateBarrier {
		c.group = w.commits[kind][i]
	}
	w.cta.late = append(w.cta.late, c)
}

// makeLate makes the copies for which due answers true.
func (c *cta) makeLate(due func(k *lateCopy) bool) {
	left := c.late[:0]
	for _, k := range c.late {
		if due(&k) {
			k.do()
		} else {
			left = append(left, k)
		}
	}
	clear(c.late[len(left):])
	c.late = left
}

// advance makes some of the copies that tell mbarrier objects: somebody in
// the cluster looks at one.
func (c *cta) advance() {
	for _, o := range c.group().ctas {
		if len(o.late) != 0 {
			o.makeLate(func(k *lateCopy) bool {
				c.rng = splitmix(c.rng)
				return k.kind == lateBarrier && c.rng&1 != 0
			})
		}
	}
}

// finishLate makes what the block has left when it ends.
func (c *cta) finishLate() {
	if len(c.late) != 0 {
		c.makeLate(func(*lateCopy) bool { return true })
	}
}

// commitGroup lowers cp.async.commit_group and cp.async.bulk.commit_group.
func (l *lowerer) commitGroup(kind lateKind) {
	l.emit(func(w *warp, in *inst, m uint32) {
		if w.delays() {
			w.commit(kind, m)
		}
	}, noReg)
}

func (w *warp) commit(kind lateKind, m uint32) {
	for ; m != 0; m &= m - 1 {
		w.commits[kind][first(m)]++
	}
}

// waitGroup lowers cp.async.wait_group, whose operand is how many of the
// newest groups need not be complete; wait_all, without one, commits first.
func (l *lowerer) waitGroup(i *ptx.Instr, kind lateKind, all bool) {
	var open uint32
	if !all {
		if !l.args(i, 1, 1) {
			return
		}
		n, ok := i.Args[0].(*ptx.Imm)
		if !ok {
			l.bad("number of groups is not a constant")
			return
		}
		open = uint32(n.Bits)
	}
	l.emit(func(w *warp, in *inst, m uint32) {
		if !w.delays() {
			return
		}
		if all {
			w.commit(kind, m)
		}
		w.completeGroups(kind, m, open)
	}, noReg)
}

// completeGroups makes the copies of the lanes in m but those of the newest
// open groups, and of the one not committed.
func (w *warp) completeGroups(kind lateKind, m, open uint32) {
	w.cta.makeLate(func(k *lateCopy) bool {
		return k.w == w && k.kind == kind && m>>k.lane&1 != 0 && k.group+open < w.commits[kind][k.lane]
	})
}
