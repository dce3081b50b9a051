package driver

import "github.com/purecuda/cuda/internal/hostcall"

// Usable is what Available finds out about a driver.
func Usable(d *Driver) error { return usable(d) }

// SetBlockingSlots changes how many waits may block a thread, for tests of the
// other way to wait.
func SetBlockingSlots(n int) (restore func()) {
	old := blockingSlots
	blockingSlots = newSlots(n)
	return func() { blockingSlots = old }
}

// SetFewWaits changes how many waits are few, for tests of crowds: with 0 there is
// always one.
func SetFewWaits(n int) (restore func()) {
	old := waits.few.Swap(int32(n))
	fewWaitsAre.Store(int32(n) + 1)
	return func() { fewWaitsAre.Store(0); waits.few.Store(old) }
}

// Waits is how many goroutines wait.
func Waits() int { return int(waits.now.Load()) }

// RegisteredHostCalls counts what the driver could still call.
func RegisteredHostCalls() int { return hostcall.Registered() }

// FreeBlockingSlots is how many more waits may block a thread.
func FreeBlockingSlots() int { return int(blockingSlots.free.Load()) }

// FreeLate is a FreeAsync that a Close overtook after its checks.
func FreeLate[T any](b *Buffer[T], s *Stream) error { return b.mem.a.freeOn(s) }

// AnswerOrCause is how a wait that another goroutine makes ends.
var AnswerOrCause = answerOrCause
