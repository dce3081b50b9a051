package vm

import "github.com/purecuda/cuda/ptx"

// Delayed asynchronous copies. A launch with a seed permutes everything that a program must not
// rely on. It therefore performs a copy where it is waited for, not where it is issued. Of the
// copies that signal an mbarrier object, only some are performed each time an mbarrier object is
// polled. A program that reads data without waiting for it then finds the old contents.

// lateKind is the way in which a copy is waited for.
type lateKind uint8

const (
	lateAsync   lateKind = iota // cp.async, in groups of the thread
	lateBulk                    // cp.async.bulk, in groups of the thread
	lateBarrier                 // through an mbarrier object
	lateGroups  = int(lateBarrier)
)

// lateCopy is a copy that a thread has issued and that has not been performed.
type lateCopy struct {
	w     *warp
	lane  int
	kind  lateKind
	group uint32 // how many groups the thread had committed before
	do    func()
}

// delays reports whether copies are delayed.
func (w *warp) delays() bool { return w.cta.run.opts.Seed != 0 }

// later keeps a copy of lane i until it is due.
func (w *warp) later(kind lateKind, i int, do func()) {
	c := lateCopy{w: w, lane: i, kind: kind, do: do}
	if kind != lateBarrier {
		c.group = w.commits[kind][i]
	}
	w.cta.late = append(w.cta.late, c)
}

// makeLate performs the copies for which due returns true.
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

// advance performs some of the copies that signal mbarrier objects, because a thread in the cluster
// polls one.
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

// finishLate performs the block's remaining copies when it ends.
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

// waitGroup lowers cp.async.wait_group, whose operand is how many of the newest groups may be
// incomplete. wait_all has no operand and commits first.
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

// completeGroups performs the copies of the lanes in m, except those of the newest open groups and
// of the uncommitted group.
func (w *warp) completeGroups(kind lateKind, m, open uint32) {
	w.cta.makeLate(func(k *lateCopy) bool {
		return k.w == w && k.kind == kind && m>>k.lane&1 != 0 && k.group+open < w.commits[kind][k.lane]
	})
}
