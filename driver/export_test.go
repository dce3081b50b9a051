package driver

import "github.com/purecuda/cuda/internal/hostcall"

// Usable returns the error that Available would return for this driver, or nil.
func Usable(d *Driver) error { return usable(d) }

// SetBlockingSlots changes how many waits may block a thread, for tests of the
// other ways to wait.
func SetBlockingSlots(n int) (restore func()) {
	old := blockingSlots
	blockingSlots = newSlots(n)
	return func() { blockingSlots = old }
}

// SetFewWaits sets the number of waits above which they form a crowd. With 0 every
// wait does.
func SetFewWaits(n int) (restore func()) {
	old := waits.few.Swap(int32(n))
	fewWaitsAre.Store(int32(n) + 1)
	return func() { fewWaitsAre.Store(0); waits.few.Store(old) }
}

// Waits returns how many waits are in progress.
func Waits() int { return int(waits.now.Load()) }

// RegisteredHostCalls returns how many host calls the driver could still make.
func RegisteredHostCalls() int { return hostcall.Registered() }

// FreeBlockingSlots returns how many more waits may block a thread.
func FreeBlockingSlots() int { return int(blockingSlots.free.Load()) }

// FreeLate frees b as a FreeAsync does whose checks passed before a Close.
func FreeLate[T any](b *Buffer[T], s *Stream) error { return b.mem.a.freeOn(s) }

// AnswerOrCause exports answerOrCause for tests.
var AnswerOrCause = answerOrCause
