package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// ledger counts what the driver itself has open, beside what this library knows
// that it made: a handle that was lost on the way is in the driver's books only.
type ledger struct {
	e    *emulator.Emulator
	open map[string]int
}

func newLedger(k *kit, e *emulator.Emulator) *ledger {
	l := &ledger{e: e}
	l.wait(k)
	l.open = l.count()
	return l
}

// wait waits for a stream several times at once, which makes the events that
// waits use and keep for the next ones: as many as there ever were at a time.
func (l *ledger) wait(k *kit) {
	const waits = 4
	gate, done := make(chan struct{}), make(chan error, waits)
	k.ok(k.s.HostFunc(func() { <-gate }))
	ctx, cancel := context.WithCancel(context.Background()) // one that cannot end needs no event
	defer cancel()
	for range waits {
		go func() { done <- k.s.Wait(ctx) }()
	}
	for end := time.Now().Add(time.Second); l.count()["event"] < waits && time.Now().Before(end); {
		time.Sleep(100 * time.Microsecond)
	}
	close(gate)
	for range waits {
		k.ok(<-done)
	}
}

func (l *ledger) again() { l.open = l.count() }

func (l *ledger) count() map[string]int {
	open := map[string]int{}
	for _, leak := range l.e.Leaks() {
		kind := leak.Kind
		if leak.MadeBy != "" {
			kind += " from " + leak.MadeBy
		}
		if leak.By != "" {
			kind += ", reclaimed by " + leak.By
		}
		open[kind]++
	}
	return open
}

// more says what is open that was not when the ledger was made, unless that is
// expected. What is given back behind work that ends later gets a moment.
func (l *ledger) more(expected func(diff string) bool) string {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		diff := l.diff()
		if diff == "" || expected(diff) {
			return ""
		}
		if time.Now().After(end) {
			return diff
		}
	}
}

func (l *ledger) diff() string {
	var more []string
	for kind, n := range l.count() {
		if n > l.open[kind] {
			more = append(more, fmt.Sprintf("%d more %s", n-l.open[kind], kind))
		}
	}
	return strings.Join(more, ", ")
}

// cause is the first code of an error, in the order in which it is read.
func cause(err error) driver.CUresult {
	var code driver.CUresult
	errors.As(err, &code)
	return code
}

// saysWhich reports whether an error says which function failed. The one that a call
// makes ahead of itself, to see that its context is current, counts as a part of
// the call.
func saysWhich(err error, symbol string) bool {
	name, _, _ := strings.Cut(symbol, "_v")
	return binds(name) || strings.Contains(err.Error(), name)
}

// binds reports whether a call belongs to the crossing of others: it makes their
// context current, on a thread where that is another one.
func binds(symbol string) bool { return symbol == "cuCtxGetCurrent" || symbol == "cuCtxSetCurrent" }

// notMade reports whether the call that gives the one thing back that is still
// open (and the user object that it holds) could not be made, because the driver
// did not even make the context current: there is no other way to give it back.
func notMade(err error, symbol, more string) bool {
	more = strings.Trim(strings.Replace(more, "1 more user object", "", 1), ", ")
	one := more == "" || strings.HasPrefix(more, "1 more ") && !strings.Contains(more, ",")
	return binds(symbol) && one && faulty.GivesBack(err.Error())
}

// A ledger finds a handle that no object of the library stands for.
func TestLedgerFindsLostHandles(t *testing.T) {
	e := emulator.New(emulator.Config{})
	k := newKit(t, gputest.Context(t, gputest.Driver(t, e)))
	l := newLedger(k, e)
	var raw driver.CUgraph
	k.ok(k.c.Driver().CuGraphCreate(&raw, 0))
	if got := l.diff(); got != "1 more graph" {
		t.Errorf("a lost graph shows as %q", got)
	}
	k.ok(k.c.Driver().CuGraphDestroy(raw))
	if got := l.diff(); got != "" {
		t.Errorf("after the graph was destroyed: %q", got)
	}
}
