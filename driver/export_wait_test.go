package driver

// SetBlockingSlots changes how many waits may block a thread, for tests of the
// other way to wait.
func SetBlockingSlots(n int) (restore func()) {
	old := blockingSlots
	blockingSlots = newSlots(n)
	return func() { blockingSlots = old }
}

// RegisteredHostCalls counts what the driver could still call.
func RegisteredHostCalls() int {
	callbacks.mu.Lock()
	defer callbacks.mu.Unlock()
	return len(callbacks.byToken)
}

// FreeBlockingSlots is how many more waits may block a thread.
func FreeBlockingSlots() int { return int(blockingSlots.free.Load()) }

// FreeLate is a FreeAsync that a Close overtook after its checks.
func FreeLate[T any](b *Buffer[T], s *Stream) error { return b.mem.a.freeOn(s) }

// AnswerOrCause is how a wait that another goroutine makes ends.
var AnswerOrCause = answerOrCause
