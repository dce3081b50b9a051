package graphtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// Injected is the error code that injected failures return. Nothing else in the tests returns it.
const Injected = driver.CUDA_ERROR_ECC_UNCORRECTABLE

// Ledger counts the open objects according to the emulator's own list. Unlike the library's list,
// it also contains objects whose handles the library has lost.
type Ledger struct {
	E    *emulator.Emulator
	Open map[string]int
}

func NewLedger(k *Kit, e *emulator.Emulator) *Ledger {
	l := &Ledger{E: e}
	l.Wait(k)
	l.Open = l.Count()
	return l
}

// Wait makes several concurrent waits for the kit's stream. Each of them makes the library create
// an event, which it keeps for later waits.
func (l *Ledger) Wait(k *Kit) {
	const waits = 4
	gate, done := make(chan struct{}), make(chan error, waits)
	k.OK(k.S.HostFunc(func() { <-gate }))
	ctx, cancel := context.WithCancel(context.Background()) // only cancellable waits need events
	defer cancel()
	for range waits {
		go func() { done <- k.S.Wait(ctx) }()
	}
	for end := time.Now().Add(time.Second); l.Count()["event"] < waits && time.Now().Before(end); {
		time.Sleep(100 * time.Microsecond)
	}
	close(gate)
	for range waits {
		k.OK(<-done)
	}
}

func (l *Ledger) Again() { l.Open = l.Count() }

func (l *Ledger) Count() map[string]int {
	open := map[string]int{}
	for _, leak := range l.E.Leaks() {
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

// More returns a description of the objects that were opened since the ledger was created, or "" if
// there are none or if expected accepts the description. It retries for 10 s, because some objects
// are released only after work in flight.
func (l *Ledger) More(expected func(diff string) bool) string {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		diff := l.Diff()
		if diff == "" || expected(diff) {
			return ""
		}
		if time.Now().After(end) {
			return diff
		}
	}
}

func (l *Ledger) Diff() string {
	var more []string
	for kind, n := range l.Count() {
		if n > l.Open[kind] {
			more = append(more, fmt.Sprintf("%d more %s", n-l.Open[kind], kind))
		}
	}
	return strings.Join(more, ", ")
}

// Cause returns the driver code that errors.As finds in err, or 0.
func Cause(err error) driver.CUresult {
	var code driver.CUresult
	errors.As(err, &code)
	return code
}
