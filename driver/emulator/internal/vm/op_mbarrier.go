package vm

import (
	"fmt"
	"slices"

	"github.com/purecuda/cuda/ptx"
)

// mbarrier.*: barrier objects in shared memory.

func init() {
	register(lowerMbarrier, "mbarrier")
}

// mbarrierOp is the effect of an instruction on a barrier object for one lane: b is the object, x
// the operand, r the result.
type mbarrierOp func(b *mbarrier, x uint64) (r uint64, wrong string)

// mbarrierForm is the syntax of an instruction.
type mbarrierForm struct {
	op     mbarrierOp
	result ptx.Type // of the first operand; NoType: there is none
	x      ptx.Type // of the operand after the address; NoType: there is none
	opt    bool     // the operand may be omitted and is then 1
	hint   bool     // a time may follow
	fresh  bool     // the object need not be initialised
	look   bool     // it checks whether a phase is complete
	mods   []string // that may follow the operation's name
}

// mbarrierForms maps the first modifiers, which are part of the name, to the instructions.
var mbarrierForms = map[string]mbarrierForm{
	"init":                   {op: mbarInit, x: ptx.U32, fresh: true},
	"inval":                  {op: mbarInval},
	"expect_tx":              {op: mbarTransfer(1), x: ptx.U32, mods: []string{"relaxed"}},
	"complete_tx":            {op: mbarTransfer(-1), x: ptx.U32, mods: []string{"relaxed"}},
	"arrive":                 {op: mbarArrive(false, false), result: ptx.B64, x: ptx.U32, opt: true, mods: []string{"release", "relaxed"}},
	"arrive.expect_tx":       {op: mbarArriveExpect(false), result: ptx.B64, x: ptx.U32, mods: []string{"release", "relaxed"}},
	"arrive.noComplete":      {op: mbarArrive(false, true), result: ptx.B64, x: ptx.U32, mods: []string{"release"}},
	"arrive_drop":            {op: mbarArrive(true, false), result: ptx.B64, x: ptx.U32, opt: true, mods: []string{"release", "relaxed"}},
	"arrive_drop.expect_tx":  {op: mbarArriveExpect(true), result: ptx.B64, x: ptx.U32, mods: []string{"release", "relaxed"}},
	"arrive_drop.noComplete": {op: mbarArrive(true, true), result: ptx.B64, x: ptx.U32, mods: []string{"release"}},
	"test_wait":              {look: true, op: mbarTest, result: ptx.Pred, x: ptx.B64, mods: []string{"acquire", "relaxed"}},
	"test_wait.parity":       {look: true, op: mbarTestParity, result: ptx.Pred, x: ptx.U32, mods: []string{"acquire", "relaxed"}},
	"try_wait":               {look: true, op: mbarTest, result: ptx.Pred, x: ptx.B64, hint: true, mods: []string{"acquire", "relaxed"}},
	"try_wait.parity":        {look: true, op: mbarTestParity, result: ptx.Pred, x: ptx.U32, hint: true, mods: []string{"acquire", "relaxed"}},
}

func mbarInit(b *mbarrier, x uint64) (uint64, string) {
	if x == 0 || x > mbarMaxCount {
		return 0, "the count is not from 1 to 1048575"
	}
	*b = newMbarrier(x)
	return 0, ""
}

func mbarInval(b *mbarrier, _ uint64) (uint64, string) {
	*b = 0
	return 0, ""
}

func mbarTransfer(sign int64) mbarrierOp {
	return func(b *mbarrier, x uint64) (uint64, string) { return 0, b.transfer(sign * int64(x)) }
}

// mbarArrive returns the object as it was before the arrival: its phase and
// its count.
func mbarArrive(drop, noComplete bool) mbarrierOp {
	return func(b *mbarrier, x uint64) (uint64, string) {
		old := *b
		wrong := b.arrive(x, drop)
		if wrong == "" && noComplete && b.phase() != old.phase() {
			wrong = "an arrival with .noComplete completes the phase"
		}
		return uint64(old), wrong
	}
}

func mbarArriveExpect(drop bool) mbarrierOp {
	return func(b *mbarrier, x uint64) (uint64, string) {
		old := *b
		wrong := b.transfer(int64(x))
		if wrong == "" {
			wrong = b.arrive(1, drop)
		}
		return uint64(old), wrong
	}
}

func mbarTest(b *mbarrier, x uint64) (uint64, string) {
	return b.phase() ^ mbarrier(x).phase(), ""
}

func mbarTestParity(b *mbarrier, x uint64) (uint64, string) { return b.phase() ^ x&1, "" }

func lowerMbarrier(l *lowerer, i *ptx.Instr, f *form) {
	mods := i.Op.Mods
	if len(mods) == 2 && mods[0] == "pending_count" && mods[1] == "b64" {
		l.pendingCount(i)
		return
	}
	name, rest := "", mods
	if len(mods) > 0 {
		name, rest = mods[0], mods[1:]
	}
	if len(rest) > 0 && mbarrierForms[name+"."+rest[0]].op != nil {
		name, rest = name+"."+rest[0], rest[1:]
	}
	mf, ok := mbarrierForms[name]
	if !ok {
		l.unsupported()
		return
	}
	for _, m := range rest {
		if !slices.Contains(mf.mods, m) && m != "cta" && m != "cluster" && m != "shared" && m != "shared::cta" && m != "shared::cluster" && m != "b64" {
			l.bad("modifier .%s is not known", m)
			return
		}
	}
	l.mbarrier(i, f.space, mf)
}

// mbarrier emits an instruction on barrier objects.
func (l *lowerer) mbarrier(i *ptx.Instr, space ptx.Space, mf mbarrierForm) {
	args := i.Args
	least := b2i(mf.result != ptx.NoType) + 1 + b2i(mf.x != ptx.NoType && !mf.opt)
	if !l.args(i, least, least+b2i(mf.opt)+b2i(mf.hint)) {
		return
	}
	d := noReg
	if mf.result != ptx.NoType {
		d, args = l.dst(args[0], mf.result), args[1:]
	}
	p := l.memoryPlace(args[0], space)
	x := l.constant(class32, 1)
	if len(args) > 1 && mf.x != ptx.NoType {
		x = l.src(args[1], mf.x)
	}
	l.emitMbarrier(d, p, x, mf)
}

func b2i(b bool) int { return int(b2u(b)) }

func (l *lowerer) emitMbarrier(d reg, p place, x reg, mf mbarrierForm) {
	if p.base == noReg || p.space != ptx.SharedSpace && p.space != ptx.GenericSpace {
		l.bad("an mbarrier object lies in shared memory")
		return
	}
	wide, wideX, class := p.base.class == class64, x.class == class64, d.class
	n := l.slot(l.emit(func(w *warp, in *inst, m uint32) { w.mbarrier(in, m, mf, class, wide, wideX) }, d, p.base, x))
	n.in.imm = p.imm
	if mf.look {
		l.b.prog.looksAt(n.in.slot)
	}
	n.in.aux = spaceCode(p.space) | 3<<accLog | accWrite
	if !mf.fresh {
		n.in.aux |= accAtomic
	}
}

// mbarrier executes an instruction lane by lane.
//
//go:norace
func (w *warp) mbarrier(in *inst, m uint32, mf mbarrierForm, result class, wide, wideX bool) {
	w.synced = true
	if mf.look && w.delays() {
		w.cta.advance()
	}
	e := w.site(in)
	a := w.addresses(in, wide, m)
	if !mf.look {
		w.loop.times = 0
	}
	for ; m != 0; m &= m - 1 {
		i := first(m)
		b := w.mbarrierAt(in, e, a[i], i)
		if !mf.fresh {
			w.initialised(in, b, a[i], i)
		}
		var x uint64
		if wideX {
			x = w.r64[in.b][i]
		} else {
			x = uint64(w.r32[in.b][i])
		}
		r, wrong := mf.op(b, x)
		if wrong != "" {
			panic(w.accessFault(FaultBarrier, in, a[i], i, wrong))
		}
		if mf.look && r != 0 {
			w.loop.times = 0
			w.cta.waited()
		}
		switch result {
		case class64:
			w.r64[in.d][i] = r
		case classPred:
			setPred(&w.pr[in.d], 1<<i, r != 0)
		}
	}
}

// pendingCount lowers mbarrier.pending_count, which extracts the count from the state that an
// arrival returned.
func (l *lowerer) pendingCount(i *ptx.Instr) {
	if !l.args(i, 2, 2) {
		return
	}
	l.emit(lane1(func(a uint64) uint32 { return uint32(mbarrier(a).pending()) }), l.dst(i.Args[0], ptx.U32), l.src(i.Args[1], ptx.B64))
}

// copyArrive lowers cp.async.mbarrier.arrive. It completes the thread's copies, so the arrival
// follows immediately. Without .noinc the count is incremented first, so there is no net change.
func (l *lowerer) copyArrive(i *ptx.Instr, f *form, noInc bool) {
	mf := mbarrierForm{op: func(*mbarrier, uint64) (uint64, string) { return 0, "" }}
	if noInc {
		mf.op = mbarArrive(false, false)
	}
	if l.args(i, 1, 1) {
		l.waitGroup(i, lateAsync, true)
		l.emitMbarrier(noReg, l.memoryPlace(i.Args[0], f.space), l.constant(class32, 1), mf)
	}
}

// mbarrier is a barrier object in shared memory. PTX does not specify the contents of its 64 bits.
// Here they are, from the lowest bit: 20 bits of arrivals that the phase still waits for, 20 bits
// of arrivals that the next phase begins with, 21 bits of bytes that are still to come (signed,
// because they may come before they are announced), two bits that mark an initialised object, and
// the parity of the phase. Poisoned and zero memory is not an initialised object.
type mbarrier uint64

const (
	mbarCountBits = 20
	mbarTxBits    = 21
	mbarMaxCount  = 1<<mbarCountBits - 1
	mbarMaxTx     = 1<<(mbarTxBits-1) - 1

	mbarExpectAt = mbarCountBits
	mbarTxAt     = 2 * mbarCountBits
	mbarMarkAt   = mbarTxAt + mbarTxBits
	mbarMark     = 2
	mbarPhaseAt  = 63
)

func newMbarrier(count uint64) mbarrier {
	return mbarrier(mbarMark<<mbarMarkAt | count<<mbarExpectAt | count)
}

func (b mbarrier) valid() bool     { return b>>mbarMarkAt&3 == mbarMark }
func (b mbarrier) pending() uint64 { return uint64(b) & mbarMaxCount }
func (b mbarrier) expect() uint64  { return uint64(b) >> mbarExpectAt & mbarMaxCount }
func (b mbarrier) phase() uint64   { return uint64(b) >> mbarPhaseAt }

// tx returns the number of bytes that are still to come.
func (b mbarrier) tx() int64 {
	return int64(b) << (64 - mbarTxAt - mbarTxBits) >> (64 - mbarTxBits)
}

func (b *mbarrier) set(pending, expect uint64, tx int64) {
	const low = 1<<mbarMarkAt - 1
	*b = *b&^low | mbarrier(uint64(tx)<<mbarTxAt&low|expect<<mbarExpectAt|pending)
}

// arrive counts n arrivals. With drop, the following phases wait for n fewer.
func (b *mbarrier) arrive(n uint64, drop bool) (wrong string) {
	if n == 0 || n > b.pending() {
		return fmt.Sprintf("%d arrivals, the phase waits for %d more", n, b.pending())
	}
	expect := b.expect()
	if drop {
		expect -= n
	}
	b.set(b.pending()-n, expect, b.tx())
	b.complete()
	return ""
}

// transfer announces n bytes, or records that -n bytes have come.
func (b *mbarrier) transfer(n int64) (wrong string) {
	tx := b.tx() + n
	if tx > mbarMaxTx || tx < -mbarMaxTx {
		return fmt.Sprintf("%d bytes to come, no more than %d are possible", tx, mbarMaxTx)
	}
	b.set(b.pending(), b.expect(), tx)
	b.complete()
	return ""
}

// complete ends the phase if nothing is missing.
func (b *mbarrier) complete() {
	if b.pending() == 0 && b.tx() == 0 {
		b.set(b.expect(), b.expect(), 0)
		*b ^= 1 << mbarPhaseAt
	}
}

// mbarrierAt returns the barrier object at p for lane i. in determines the space.
//
//go:norace
func (w *warp) mbarrierAt(in *inst, e *access, p uint64, i int) *mbarrier {
	if in.aux&spaceMask == spaceGeneric && p&windowMask != sharedWindow {
		panic(w.accessFault(FaultIllegalInstruction, in, p, i, "an mbarrier object lies in shared memory"))
	}
	return (*mbarrier)(w.pointer(in, e, p, i))
}

// initialised faults if there is no barrier object at p.
func (w *warp) initialised(in *inst, b *mbarrier, p uint64, i int) {
	if !b.valid() {
		panic(w.accessFault(FaultBarrier, in, p, i, "no mbarrier object was initialised here"))
	}
}

// completeBytes records at the barrier object at p that n bytes have come. With n = 0, it only
// checks that there is an object.
//
//go:norace
func (w *warp) completeBytes(in *inst, space uint16, p uint64, n int, i int) {
	probe := inst{aux: space | 3<<accLog | accWrite | accAtomic, slot: in.slot}
	e := access{region: deadRegion}
	b := w.mbarrierAt(&probe, &e, p, i)
	w.initialised(&probe, b, p, i)
	if n == 0 {
		return
	}
	if wrong := b.transfer(-int64(n)); wrong != "" {
		panic(w.accessFault(FaultBarrier, &probe, p, i, wrong))
	}
}
