package driver

import (
	"sync"
	"time"
)

// background counts the goroutines of this library that will destroy driver objects once the GPU no
// longer uses them.
type background struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n becomes 0; nil: nobody waits
}

// closePatience limits how long Close waits for them, because GPU work may never end.
const closePatience = 10 * time.Second

func (b *background) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
}

func (b *background) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n--; b.n == 0 && b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
}

// wait waits until none is left, for at most patience.
func (b *background) wait(patience time.Duration) {
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
	b.begin()
	go func() {
		defer b.end()
		fn()
	}()
}

func (l *Lifetime) background() *background {
	if l == nil || l.core == nil { // a zero Lifetime belongs to no driver
		return &ofNoDriver
	}
	return &l.core.guarded.core.background
}

// ofNoDriver counts the goroutines of zero Lifetimes. Nothing waits for them.
var ofNoDriver background
