package driver

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
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

var leakHook atomic.Pointer[func(Leak)]

// SetLeakHook reports every object that becomes unreachable without Close to hook, with the stack
// of its creation. It returns the previous hook. Stacks are recorded for objects created after the
// call. A nil hook turns the recording off. The hook runs on a goroutine of this package, after the
// object was destroyed.
//
// The hook is for tests and for finding leaks. Without one, unreachable objects are destroyed just
// the same, silently and at no cost per object.
func SetLeakHook(hook func(Leak)) (previous func(Leak)) {
	var p *func(Leak)
	if hook != nil {
		p = &hook
	}
	if old := leakHook.Swap(p); old != nil {
		previous = *old
	}
	return previous
}

// OpenObjects returns the objects created since a leak hook was set that are not destroyed yet, in
// no particular order. Without a hook it returns none.
func OpenObjects() []Leak {
	tracked.Lock()
	defer tracked.Unlock()
	leaks := make([]Leak, 0, len(tracked.set))
	for l := range tracked.set {
		leaks = append(leaks, l.leak(nil))
	}
	return leaks
}

// tracked refers to lifetimes, never to the objects that programs use: those must stay collectable.
var tracked struct {
	sync.Mutex
	set map[*Lifetime]struct{}
}

func (l *Lifetime) track() {
	if leakHook.Load() == nil {
		return
	}
	var pcs [32]uintptr
	n := runtime.Callers(3, pcs[:]) // without Callers, track and Own
	l.stack = append([]uintptr{}, pcs[:n]...)
	tracked.Lock()
	defer tracked.Unlock()
	if tracked.set == nil {
		tracked.set = make(map[*Lifetime]struct{})
	}
	tracked.set[l] = struct{}{}
}

func (l *Lifetime) untrack() {
	if l.stack == nil {
		return
	}
	tracked.Lock()
	delete(tracked.set, l)
	tracked.Unlock()
}

func (l *Lifetime) leak(err error) Leak {
	if l.core == nil {
		return Leak{Kind: l.kindName(), Err: err}
	}
	return Leak{Kind: l.kindName(), Handle: l.handle, Device: l.core.dev, Context: l.core.raw,
		Stack: formatStack(l.stack), Err: err}
}

func formatStack(pcs []uintptr) string {
	if len(pcs) == 0 {
		return ""
	}
	var b strings.Builder
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		fmt.Fprintf(&b, "\t%s\n\t\t%s:%d\n", f.Function, f.File, f.Line)
		if !more {
			return b.String()
		}
	}
}
