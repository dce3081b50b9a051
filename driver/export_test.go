package driver

import "github.com/purecuda/cuda/internal/hostcall"

// Usable returns the error that Available would return if d were the system's driver.
func Usable(d *Driver) error { return usable(d) }

// Prints reports whether the kernels of an image are assumed to print on dev.
func Prints(dev Device, data []byte) (bool, error) {
	img, err := newLoadable(data)
	return img.prints(dev), err
}

// SetBlockingSlots sets how many waits may block a thread at the same time. With 0, waits must
// poll.
func SetBlockingSlots(n int) (restore func()) {
	spins, sleeps := blockingSlots, sleepingSlots
	blockingSlots, sleepingSlots = newSlots(n), newSlots(n)
	return func() { blockingSlots, sleepingSlots = spins, sleeps }
}

// SetFewWaits sets the largest number of simultaneous waits that does not count as a crowd. With 0,
// every wait counts as a part of a crowd.
func SetFewWaits(n int) (restore func()) {
	old := waits.few.Swap(int32(n))
	fewWaitsAre.Store(int32(n) + 1)
	return func() { fewWaitsAre.Store(0); waits.few.Store(old) }
}

// Waits returns the number of waits in progress.
func Waits() int { return int(waits.now.Load()) }

// RegisteredHostCalls returns the number of host calls that the driver could still make.
func RegisteredHostCalls() int { return hostcall.Registered() }

// FreeSleepingSlots returns the number of free slots for waits that put their thread to sleep.
func FreeSleepingSlots() int { return int(sleepingSlots.free.Load()) }

// FreeLate frees b without checking it. It simulates a FreeAsync whose buffer another goroutine
// closes just after the check.
func FreeLate[T any](b *Buffer[T], s *Stream) error { return b.mem.a.freeOn(s) }

var AnswerOrCause = answerOrCause
