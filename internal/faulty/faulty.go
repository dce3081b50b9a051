// Package faulty wraps a [loader.Library] so that a chosen call fails.
//
// It is for tests of cleanup paths: a flow is run once to count its driver
// calls, then once per call with that call failing, and after each run nothing
// may be left behind. It imports loader only and knows CUDA by its names.
package faulty

import (
	"strings"
	"sync"

	"github.com/purecuda/cuda/loader"
)

// Library forwards every call to the library that it wraps and fails those
// that it was told to. It may be used by any number of goroutines.
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

// Call is one call that was seen while the library was counting.
type Call struct {
	Symbol string // as it was looked up: cuMemAlloc_v2
	Result uint32 // what the caller got
	Failed bool   // the failure is ours
}

// rule says which call fails and with what.
type rule struct {
	symbol string // "" is any
	nth    int    // counted from 1; 0 never
	result uint32
}

// Wrap returns a library that forwards to inner until it is told otherwise.
func Wrap(inner loader.Library) *Library {
	return &Library{inner: inner, ignore: map[string]bool{}}
}

// Name says which library is wrapped.
func (l *Library) Name() string { return "faulty " + l.inner.Name() }

// Close closes the wrapped library.
func (l *Library) Close() error { return l.inner.Close() }

// Lookup returns the wrapped library's function behind a Go function that
// counts, and fails where it is told to.
func (l *Library) Lookup(symbol string) (loader.Proc, error) {
	p, err := l.inner.Lookup(symbol)
	if err != nil || p.IsZero() {
		return p, err
	}
	return loader.FuncProc(func(a loader.Args) uintptr {
		return l.call(symbol, &p, a)
	}), nil
}

// Ignore takes functions out of the count: they never fail.
func (l *Library) Ignore(symbols ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range symbols {
		l.ignore[s] = true
	}
}

// Before sets a function that runs before each counted call is forwarded, for
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

// Stop ends the count and returns the calls that were seen.
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

// next counts a call and says whether it is the one to fail, and with what. That
// is noted at once: who ends the count while it is under way hears of it.
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

// GivesBack reports whether a function releases something. Such a call is
// made before it is reported as failed: a caller has no second way to release
// the thing, so a test that looks for leaks afterwards would blame it for
// what the wrapper did not do.
func GivesBack(symbol string) bool {
	for _, word := range []string{"Destroy", "Free", "Unload", "Release", "Unregister", "EndCapture"} {
		if strings.Contains(symbol, word) {
			return true
		}
	}
	return false
}
