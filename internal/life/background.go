package life

import (
	"sync"
	"time"
)

// Background counts the goroutines of this library that will destroy driver objects once the GPU no
// longer uses them.
type Background struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n becomes 0; nil: nobody waits
}

// Begin counts one more.
func (b *Background) Begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
}

// End counts one less.
func (b *Background) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n--; b.n == 0 && b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
}

// Wait waits until none is left, for at most patience.
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

// Go runs fn on a goroutine that Driver.Close waits for. It is for releasing what an object held
// after waiting for the GPU. fn must end when the GPU's work does.
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
