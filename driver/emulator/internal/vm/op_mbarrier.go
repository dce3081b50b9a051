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

// mbarrierOp applies an instruction to barrier object b for one lane. x is the operand and r the
// result. If the operation is invalid, wrong describes the error.
type mbarrierOp func(b *mbarrier, x uint64) (r uint64, wrong string)

type mbarrierForm struct {
	op     mbarrierOp
	result ptx.Type // type of the destination; NoType if there is none
	x      ptx.Type // type of the operand after the address; NoType if there is none
	opt    bool     // the operand may be omitted; its default is 1
	hint   bool     // a time hint may follow
	fresh  bool     // the object may be uninitialised
	look   bool     // the instruction tests whether a phase is complete
	mods   []string // modifiers that may follow the operation's name
}

// mbarrierForms is keyed by the first modifiers, which belong to the instruction's name.
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

// mbarArrive returns an arrival operation. Its result is the object's state before the arrival.
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

// pendingCount lowers mbarrier.pending_count, which extracts the count from a state that an arrival
// returned.
func (l *lowerer) pendingCount(i *ptx.Instr) {
	if !l.args(i, 2, 2) {
		return
	}
	l.emit(lane1(func(a uint64) uint32 { return uint32(mbarrier(a).pending()) }), l.dst(i.Args[0], ptx.U32), l.src(i.Args[1], ptx.B64))
}

// copyArrive lowers cp.async.mbarrier.arrive. It completes the thread's copies. With .noinc, it
// then arrives. Without .noinc, it would increment the count before it arrives, so the object does
// not change.
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
// The emulator uses this layout, from the lowest bit:
//
//   - 20 bits: arrivals that the current phase still waits for
//   - 20 bits: arrivals that the next phase starts with
//   - 21 bits: bytes still to be transferred (signed, as bytes may arrive before the announcement)
//   - 2 bits: mark of an initialised object
//   - 1 bit: parity of the phase
//
// Poisoned memory and zeroed memory are not initialised objects.
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

func (b mbarrier) tx() int64 {
	return int64(b) << (64 - mbarTxAt - mbarTxBits) >> (64 - mbarTxBits)
}

func (b *mbarrier) set(pending, expect uint64, tx int64) {
	const low = 1<<mbarMarkAt - 1
	*b = *b&^low | mbarrier(uint64(tx)<<mbarTxAt&low|expect<<mbarExpectAt|pending)
}

// arrive counts n arrivals. If drop is set, later phases wait for n fewer arrivals.
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

// transfer announces n bytes, or records the arrival of -n bytes.
func (b *mbarrier) transfer(n int64) (wrong string) {
	tx := b.tx() + n
	if tx > mbarMaxTx || tx < -mbarMaxTx {
		return fmt.Sprintf("%d bytes to come, no more than %d are possible", tx, mbarMaxTx)
	}
	b.set(b.pending(), b.expect(), tx)
	b.complete()
	return ""
}

// complete ends the phase if no arrival and no byte is outstanding.
func (b *mbarrier) complete() {
	if b.pending() == 0 && b.tx() == 0 {
		b.set(b.expect(), b.expect(), 0)
		*b ^= 1 << mbarPhaseAt
	}
}

//go:norace
func (w *warp) mbarrierAt(in *inst, e *access, p uint64, i int) *mbarrier {
	if in.aux&spaceMask == spaceGeneric && p&windowMask != sharedWindow {
		panic(w.accessFault(FaultIllegalInstruction, in, p, i, "an mbarrier object lies in shared memory"))
	}
	return (*mbarrier)(w.pointer(in, e, p, i))
}

// initialised panics with a fault if b, the object at p, is not initialised.
func (w *warp) initialised(in *inst, b *mbarrier, p uint64, i int) {
	if !b.valid() {
		panic(w.accessFault(FaultBarrier, in, p, i, "no mbarrier object was initialised here"))
	}
}

// completeBytes records the arrival of n bytes at the barrier object at p. With n = 0, it only
// checks that the object exists.
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
