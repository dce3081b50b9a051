package life

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// Report describes an object that became unreachable without Close, or that is still open.
type Report struct {
	Kind   string
	Handle uint64
	Owner  any    // Owner of the object's Home
	Stack  string // stack of the object's creation, innermost call first
	Err    error  // reason why the object could not be destroyed, or nil
}

var leakHook atomic.Pointer[func(Report)]

// SetHook sets the function that is called for every object that becomes unreachable without Close,
// on the goroutine that destroyed the object. While a hook is set, the stack of each creation is
// recorded.
func SetHook(hook *func(Report)) { leakHook.Store(hook) }

// Open returns the objects that were created while a hook was set and are not yet destroyed.
func Open() []Report {
	tracked.Lock()
	defer tracked.Unlock()
	open := make([]Report, 0, len(tracked.set))
	for l := range tracked.set {
		open = append(open, l.report(nil))
	}
	return open
}

// tracked refers to lifetimes, but never to the objects that programs use, because those must stay
// collectable.
var tracked struct {
	sync.Mutex
	set map[*Lifetime]struct{}
}

func (l *Lifetime) track() {
	if leakHook.Load() == nil {
		return
	}
	var pcs [32]uintptr
	n := runtime.Callers(3, pcs[:]) // skip Callers, track and Own
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

func (l *Lifetime) report(err error) Report {
	r := Report{Kind: l.kindName(), Handle: l.handle, Stack: formatStack(l.stack), Err: err}
	if l.home != nil {
		r.Owner = l.home.Owner
	}
	return r
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
