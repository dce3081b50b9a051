// Package faulty wraps a [loader.Library] so that a chosen call fails.
//
// It is for tests of cleanup paths. A flow is run once to count its driver calls, then
// once per call with that call failing. After each run nothing may be left behind. The
// package imports only loader, and refers to CUDA functions by name.
package faulty

import (
	"strings"
	"sync"

	"github.com/purecuda/cuda/loader"
)

// Library forwards every call to the library that it wraps, except the calls that it
// was told to fail. Any number of goroutines may use it.
type Library struct {
	inner loader.Library

	mu     sync.Mutex
	armed  bool
	rule   rule
	count  int
	log    []Call
	ignore map[string]bool
	before func(symbol string)
}

// Call is one call that the library counted.
type Call struct {
	Symbol string // the looked-up name: cuMemAlloc_v2
	Result uint32 // what the caller received
	Failed bool   // the library caused the failure
}

// rule says which call fails, and with which result.
type rule struct {
	symbol string // "" means any
	nth    int    // counted from 1; 0 means never
	result uint32
}

// Wrap returns a library that forwards to inner until a failure is set.
func Wrap(inner loader.Library) *Library {
	return &Library{inner: inner, ignore: map[string]bool{}}
}

// Name returns the name of the wrapped library, marked as faulty.
func (l *Library) Name() string { return "faulty " + l.inner.Name() }

// Close closes the wrapped library.
func (l *Library) Close() error { return l.inner.Close() }

// Lookup returns a Go function that counts its calls and forwards them to the wrapped
// library's function, or fails them.
func (l *Library) Lookup(symbol string) (loader.Proc, error) {
	p, err := l.inner.Lookup(symbol)
	if err != nil || p.IsZero() {
		return p, err
	}
	return loader.FuncProc(func(a loader.Args) uintptr {
		return l.call(symbol, &p, a)
	}), nil
}

// Ignore excludes functions from the count: they never fail.
func (l *Library) Ignore(symbols ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range symbols {
		l.ignore[s] = true
	}
}

// Before sets a function that runs before each counted call is forwarded. It is for
// tests that must act in the middle of a flow. nil removes it.
func (l *Library) Before(f func(symbol string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before = f
}

// Count starts a new count in which no call fails.
func (l *Library) Count() { l.arm(rule{}) }

// FailNth makes the nth call from now, counted from 1, return result.
func (l *Library) FailNth(n int, result uint32) { l.arm(rule{nth: n, result: result}) }

// FailCall makes the nth call of one function from now return result.
func (l *Library) FailCall(symbol string, n int, result uint32) {
	l.arm(rule{symbol: symbol, nth: n, result: result})
}

// Stop ends the count and returns the counted calls.
func (l *Library) Stop() []Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = false
	l.rule = rule{}
	log := l.log
	l.log = nil
	return log
}

func (l *Library) arm(r rule) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed, l.rule, l.count, l.log = true, r, 0, nil
}

// call forwards one call or fails it.
func (l *Library) call(symbol string, p *loader.Proc, a loader.Args) uintptr {
	fail, counted, result, before := l.next(symbol)
	if before != nil {
		before(symbol)
	}
	if !counted {
		return a.Forward(p)
	}
	if fail {
		if GivesBack(symbol) {
			a.Forward(p)
		}
		return uintptr(result)
	}
	r := a.Forward(p)
	l.note(Call{Symbol: symbol, Result: uint32(r)})
	return r
}

// next counts a call and says whether to fail it, and with what. A failure is recorded
// at once, so that Stop reports it even while the call is running.
func (l *Library) next(symbol string) (fail, counted bool, result uint32, before func(string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ignore[symbol] {
		return false, false, 0, nil
	}
	if !l.armed {
		return false, false, 0, l.before
	}
	if l.rule.symbol == "" || l.rule.symbol == symbol {
		l.count++
		fail = l.count == l.rule.nth
	}
	if fail {
		l.log = append(l.log, Call{Symbol: symbol, Result: l.rule.result, Failed: true})
	}
	return fail, true, l.rule.result, l.before
}

func (l *Library) note(c Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, c)
}

// GivesBack reports whether a function releases something. Such a call is made before
// it is reported as failed. A caller has no second way to release the object, so a test
// that looks for leaks would otherwise blame the caller.
func GivesBack(symbol string) bool {
	for _, word := range []string{"Destroy", "Free", "Unload", "Release", "Unregister", "EndCapture"} {
		if strings.Contains(symbol, word) {
			return true
		}
	}
	return false
}
