package emulator

import (
	"fmt"
	"slices"
	"strings"
)

// Leak is an object that a program made and did not release.
type Leak struct {
	Kind    string  // "stream", "memory", ...
	Handle  uintptr // 0 for memory
	Address uint64  // of memory
	Size    uint64  // of memory
	MadeBy  string  // of memory: the function that allocated it
	By      string  // the call that reclaimed it with its context; empty: it is still open
	At      string  // the calls of the program that made it; for handles, with CheckLeaks only
}

// String names the leaked object, and says who made it where that is known.
func (l Leak) String() string {
	var b strings.Builder
	b.WriteString(l.Kind)
	switch {
	case l.Handle != 0:
		fmt.Fprintf(&b, " %#x", l.Handle)
	default:
		fmt.Fprintf(&b, " %#x of %d bytes", l.Address, l.Size)
	}
	if l.MadeBy != "" {
		fmt.Fprintf(&b, " from %s", l.MadeBy)
	}
	if l.At != "" {
		fmt.Fprintf(&b, ", made at %s", l.At)
	}
	if l.By != "" {
		fmt.Fprintf(&b, ", reclaimed by %s", l.By)
	}
	return b.String()
}

// Leaks lists what is open: handles, memory, references to primary contexts, and what a context
// still contained when it was destroyed. The list is empty if the program released everything.
func (e *Emulator) Leaks() []Leak {
	if !e.exists() {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leaks()
}

// leaks is Leaks with the lock held.
func (e *Emulator) leaks() []Leak {
	leaks := slices.Clone(e.reclaimed)
	for h, object := range e.handles {
		if kind := leakKind(object); kind != "" && !lost(object) {
			leaks = append(leaks, Leak{Kind: kind, Handle: h, At: e.made[h].String()})
		}
	}
	for _, d := range e.devices {
		if d.primaryRefs > 0 {
			leaks = append(leaks, Leak{Kind: "primary context", Handle: d.primary.handle})
		}
	}
	for addr, size := range e.reserved {
		leaks = append(leaks, Leak{Kind: "address range", Address: addr, Size: size})
	}
	for _, r := range e.mem.All() {
		if a, ok := r.User.(*allocation); ok && !a.releasing && !a.array && a.dev.fault == success {
			leaks = append(leaks, e.leakOf(a, ""))
		}
	}
	slices.SortStableFunc(leaks, func(a, b Leak) int {
		if d := strings.Compare(a.Kind, b.Kind); d != 0 {
			return d
		}
		return int(a.Handle) - int(b.Handle)
	})
	return leaks
}

// lost reports whether an object belongs to a device that has a fault. A driver releases such
// objects only when the process ends.
func lost(object any) bool {
	o, ok := object.(owned)
	return ok && o.owner().dev.fault != success
}

func (e *Emulator) leakOf(a *allocation, by string) Leak {
	l := Leak{Kind: "memory", Address: a.addr, Size: a.size, MadeBy: a.by, By: by}
	if r, ok := e.mem.Find(a.addr); ok {
		l.At = r.Made.String()
	}
	return l
}

// findLeaks reports a finding for each object still open when the emulator is closed.
func (e *Emulator) findLeaks() {
	if !e.checks(CheckLeaks) {
		return
	}
	for _, l := range e.leaks() {
		e.findLocked(kindLeak, fmt.Sprint(l.Kind, l.Handle, l.Address), l.String(), l.At)
	}
}

// leakKind names an object that the program must release. It returns "" for an object that is part
// of another object.
func leakKind(object any) string {
	switch o := object.(type) {
	case *cudaContext:
		if !o.primary {
			return "context"
		}
	case *stream:
		return "stream"
	case *event:
		return "event"
	case *module:
		if o.library == nil {
			return "module"
		}
	case *library:
		return "library"
	case *linkState:
		return "linker"
	case *graph:
		if o.parent == nil && !o.capturing && !o.destroyed {
			return "graph"
		}
		if o.capturing {
			return "capture"
		}
	case *array:
		return "array"
	case *physical:
		return "physical memory"
	case *exec:
		return "executable graph"
	case *pool:
		if !o.fixed {
			return "memory pool"
		}
	case *userObject:
		return "user object"
	case *extSem:
		return "external semaphore"
	}
	return ""
}
