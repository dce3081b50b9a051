// Package faulty wraps a [loader.Library] so that tests can make a chosen call fail.
//
// It is meant for tests of cleanup paths. Such a test runs a flow once to count its driver calls, and
// then once for each call with that call failing. No run may leak an object. The package imports only
// loader and refers to CUDA functions by name.
package faulty

import (
	"runtime/debug"
	"strings"
	"sync"

	"github.com/purecuda/cuda/loader"
)

// Library forwards calls to the library that it wraps, except calls that it is set to fail. It is
// safe for concurrent use.
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

// Call is a counted call.
type Call struct {
	Symbol string // name passed to Lookup, such as cuMemAlloc_v2
	Result uint32 // result that the caller received
	Failed bool   // the library caused the failure
	Stack  string // stack of the goroutine that made the call; set only if Failed
}

// rule selects the call that fails, and its result.
type rule struct {
	symbol string // "" matches any function
	nth    int    // counted from 1; 0 means never
	result uint32
}

// Wrap returns a library that forwards every call to inner until a failure is set.
func Wrap(inner loader.Library) *Library {
	return &Library{inner: inner, ignore: map[string]bool{}}
}

// Name returns the name of the wrapped library with the prefix "faulty".
func (l *Library) Name() string { return "faulty " + l.inner.Name() }

// Close closes the wrapped library.
func (l *Library) Close() error { return l.inner.Close() }

// Lookup returns a function that counts each call and either fails it or forwards it to the wrapped
// library.
func (l *Library) Lookup(symbol string) (loader.Proc, error) {
	p, err := l.inner.Lookup(symbol)
	if err != nil || p.IsZero() {
		return p, err
	}
	return loader.FuncProc(func(a loader.Args) uintptr {
		return l.call(symbol, &p, a)
	}), nil
}

// Ignore excludes functions from counting and from failures.
func (l *Library) Ignore(symbols ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range symbols {
		l.ignore[s] = true
	}
}

// Before sets a function that runs before each call of a function that is not ignored. A test can
// use it to act in the middle of a flow. nil removes the function.
func (l *Library) Before(f func(symbol string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before = f
}

// Count starts a new count and cancels any set failure.
func (l *Library) Count() { l.arm(rule{}) }

// FailNth starts a new count and makes its nth call return result. The first call is number 1.
func (l *Library) FailNth(n int, result uint32) { l.arm(rule{nth: n, result: result}) }

// FailCall starts a new count and makes the nth call of one function return result.
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

// next decides how to handle a call: whether the call must fail, whether it counts, which result a
// failure returns, and which function runs first. It records a failure immediately, so that Stop
// reports the failure even if the call has not returned.
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
		l.log = append(l.log, Call{Symbol: symbol, Result: l.rule.result, Failed: true, Stack: string(debug.Stack())})
	}
	return fail, true, l.rule.result, l.before
}

func (l *Library) note(c Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, c)
}

// GivesBack reports whether the name of a function suggests that it releases an object. Even if a
// call of such a function is set to fail, Library makes it, because the caller cannot release the
// object in another way. Leak tests would otherwise always fail.
func GivesBack(symbol string) bool {
	for _, word := range []string{"Destroy", "Free", "Unload", "Release", "Unregister", "Unmap", "EndCapture"} {
		if strings.Contains(symbol, word) {
			return true
		}
	}
	return false
}
