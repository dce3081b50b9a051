package life

import (
	"sync"
	"time"
)

// Background counts goroutines of this library that destroy driver objects after the GPU has
// stopped using them.
type Background struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n becomes 0; nil if no goroutine waits
}

// Begin adds one goroutine to the count.
func (b *Background) Begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
}

// End removes one goroutine from the count.
func (b *Background) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n--; b.n == 0 && b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
}

// Wait waits until the count is 0, but not longer than patience.
func (b *Background) Wait(patience time.Duration) {
	b.mu.Lock()
	if b.n == 0 {
		b.mu.Unlock()
		return
	}
	if b.idle == nil {
		b.idle = make(chan struct{})
	}
	idle := b.idle
	b.mu.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-idle:
	case <-late.C:
	}
}

// Go runs fn on a goroutine that Driver.Close waits for. fn may wait until the GPU no longer uses
// an object, and must return once the GPU's work has ended.
func (l *Lifetime) Go(fn func()) {
	if fn == nil {
		return
	}
	b := l.background()
	b.Begin()
	go func() {
		defer b.End()
		fn()
	}()
}

func (l *Lifetime) background() *Background {
	if l == nil || l.home == nil { // a zero Lifetime belongs to no driver
		return &ofNoDriver
	}
	return l.home.Background
}

// ofNoDriver counts the goroutines of zero Lifetimes. Nothing waits for them.
var ofNoDriver Background
