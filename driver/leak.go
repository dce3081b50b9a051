package driver

import (
	"fmt"
	"strings"
	"sync"

	"github.com/purecuda/cuda/internal/life"
)

// Leak describes an object that became unreachable without being closed, or, from OpenObjects, one
// that is still open.
type Leak struct {
	Kind    string    // "stream", "buffer of float32", …
	Handle  uint64    // the driver's handle
	Device  Device    // whose object it is
	Context CUcontext // whose object it is
	Stack   string    // where it was created, innermost call first
	Err     error     // why the driver could not destroy it, if so
}

// String returns a report: what leaked, where it was created, and the error of its destruction.
func (l Leak) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %#x of %v was not closed", l.Kind, l.Handle, l.Device)
	if l.Err != nil {
		fmt.Fprintf(&b, " and could not be destroyed: %v", l.Err)
	}
	if l.Stack != "" {
		fmt.Fprintf(&b, "; made at:\n%s", l.Stack)
	}
	return b.String()
}

// SetLeakHook reports every object that becomes unreachable without Close to hook, with the stack
// of its creation. It returns the previous hook. Stacks are recorded for objects created after the
// call. A nil hook turns the recording off. The hook runs on a goroutine of this package, after the
// object was destroyed.
//
// The hook is for tests and for finding leaks. Without one, unreachable objects are destroyed just
// the same, silently and at no cost per object.
func SetLeakHook(hook func(Leak)) (previous func(Leak)) {
	hooks.Lock()
	defer hooks.Unlock()
	previous, hooks.current = hooks.current, hook
	if hook == nil {
		life.SetHook(nil)
		return previous
	}
	report := func(r life.Report) { hook(leakOf(r)) }
	life.SetHook(&report)
	return previous
}

var hooks struct {
	sync.Mutex
	current func(Leak)
}

func leakOf(r life.Report) Leak {
	l := Leak{Kind: r.Kind, Handle: r.Handle, Stack: r.Stack, Err: r.Err}
	if core, ok := r.Owner.(*contextCore); ok {
		l.Device, l.Context = core.dev, core.raw
	}
	return l
}

// OpenObjects returns the objects created since a leak hook was set that are not destroyed yet, in
// no particular order. Without a hook it returns none.
func OpenObjects() []Leak {
	open := life.Open()
	leaks := make([]Leak, len(open))
	for i, r := range open {
		leaks[i] = leakOf(r)
	}
	return leaks
}
