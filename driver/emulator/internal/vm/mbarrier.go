package vm

import (
	"fmt"
)

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
