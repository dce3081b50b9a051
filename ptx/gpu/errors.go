package gpu

import (
	"fmt"
	"runtime"
	"strings"
)

// Panic reports a thread that panicked under Run.
//
//gpu:host
type Panic struct {
	Block, Thread Dim
	// Value is the argument of panic, or a runtime.Error.
	Value any
	// Frame is the innermost function outside of this package and package runtime.
	Frame runtime.Frame
	// Stack is the stack trace of the thread.
	Stack string
}

// Error formats the value, the thread and the source line.
func (p *Panic) Error() string {
	return fmt.Sprintf("%v (block %s, thread %s, %s)", p.Value, index(p.Block), index(p.Thread), position(p.Frame))
}

// Unwrap returns Value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Deadlock reports that no thread can continue because all threads wait for each other.
//
//gpu:host
type Deadlock struct {
	// Waits lists the waiting threads ordered by block and then by thread.
	Waits []Wait
}

// Wait is a waiting thread of a Deadlock.
type Wait struct {
	Block, Thread Dim
	// For describes the call and what it waits for.
	For string
	// Frame is the innermost function outside of this package.
	Frame runtime.Frame
}

// Error lists the lines at which threads wait, each with the number of threads that wait there and
// the first of these threads.
func (d *Deadlock) Error() string {
	type group struct {
		first Wait
		n     int
	}
	var groups []*group
	byText := make(map[string]*group)
	for _, w := range d.Waits {
		key := w.For + " " + position(w.Frame)
		g := byText[key]
		if g == nil {
			g = &group{first: w}
			byText[key] = g
			groups = append(groups, g)
		}
		g.n++
	}
	var b strings.Builder
	b.WriteString("deadlock: no thread can continue")
	for _, g := range groups {
		fmt.Fprintf(&b, "\n\t%d in %s at %s, first block %s, thread %s", g.n, g.first.For,
			position(g.first.Frame), index(g.first.Block), index(g.first.Thread))
	}
	return b.String()
}

func index(d Dim) string { return fmt.Sprintf("(%d,%d,%d)", d.X, d.Y, d.Z) }

func position(f runtime.Frame) string {
	if f.File == "" {
		return "unknown line"
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}
