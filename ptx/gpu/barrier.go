package gpu

// Barrier is an mbarrier in shared memory. It completes a phase when it has received the expected
// number of arrivals and bytes, and then begins the next phase. It requires sm_80. The methods that
// count bytes require sm_90.
//
//	bar := gpu.Shared[gpu.Barrier](t)
//	if t.Rank() == 0 {
//		bar.Init(t, t.BlockSize())
//	}
//	t.Sync()
//	bar.Wait(t, bar.Arrive(t))
type Barrier struct{ state uint64 }

// BarrierPhase identifies the phase of a Barrier in which a thread has arrived.
type BarrierPhase uint64

// Init sets the number of arrivals in each phase. One thread must call Init, and the other threads
// must synchronize with that thread before they use the barrier.
//
//gpu:intrinsic
func (b *Barrier) Init(t Thread, count int) { b.init(t, count) }

// Invalidate ends the use of the memory as a barrier.
//
//gpu:intrinsic
func (b *Barrier) Invalidate(t Thread) { b.invalidate(t) }

// Arrive counts one arrival and returns the current phase.
//
//gpu:intrinsic
func (b *Barrier) Arrive(t Thread) BarrierPhase { return b.arrive(t, 1, 0, false) }

// ArriveCount counts n arrivals and returns the current phase.
//
//gpu:intrinsic
func (b *Barrier) ArriveCount(t Thread, n int) BarrierPhase { return b.arrive(t, n, 0, false) }

// ArriveExpect increases the number of bytes that bulk copies must transfer in this phase, and then
// counts one arrival (mbarrier.arrive.expect_tx).
//
//gpu:intrinsic
func (b *Barrier) ArriveExpect(t Thread, bytes int) BarrierPhase { return b.arrive(t, 1, bytes, false) }

// ArriveDrop counts one arrival, and reduces the number of arrivals expected in all later phases by
// one.
//
//gpu:intrinsic
func (b *Barrier) ArriveDrop(t Thread) BarrierPhase { return b.arrive(t, 1, 0, true) }

// Test reports whether a phase is complete.
//
//gpu:intrinsic
func (b *Barrier) Test(t Thread, phase BarrierPhase) bool { return b.test(t, int(phase&1)) }

// Wait waits until a phase is complete.
//
//gpu:intrinsic
func (b *Barrier) Wait(t Thread, phase BarrierPhase) { b.wait(t, int(phase&1)) }

// TestParity reports whether the phase with the given parity is complete. The first phase after
// Init has parity 0. The phase before it has parity 1 and is complete.
//
//gpu:intrinsic
func (b *Barrier) TestParity(t Thread, parity int) bool { return b.test(t, parity&1) }

// WaitParity waits until the phase with the given parity is complete. See TestParity.
//
//gpu:intrinsic
func (b *Barrier) WaitParity(t Thread, parity int) { b.wait(t, parity&1) }
