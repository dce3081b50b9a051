package vm

import (
	"fmt"
	"runtime"
	"strings"
)

// traceDepth is how many calls a Trace keeps, traceShown how many it prints.
const (
	traceDepth = 32
	traceShown = 3
)

// Trace is the place in a Go program where something was made, as the calls that led there. It is
// cheap to take and resolved only when it is printed.
type Trace struct{ calls []uintptr }

// Here returns the trace of the calling goroutine.
func Here() *Trace {
	var pcs [traceDepth]uintptr
	n := runtime.Callers(2, pcs[:])
	return &Trace{append([]uintptr(nil), pcs[:n]...)}
}

// String lists the innermost calls that are not the library's own, innermost first. It is empty if
// there are none, as on a goroutine of the emulator.
func (t *Trace) String() string {
	if t == nil || len(t.calls) == 0 {
		return ""
	}
	var out []string
	frames := runtime.CallersFrames(t.calls)
	for more := true; more && len(out) < traceShown; {
		var f runtime.Frame
		f, more = frames.Next()
		if f.Function != "" && !ownCode(f.Function) {
			out = append(out, fmt.Sprintf("%s (%s:%d)", shortName(f.Function), lastPart(f.File), f.Line))
		}
	}
	return strings.Join(out, " < ")
}

// ownCode reports whether a function says nothing about the program: functions of the library, of
// the Go runtime and of the testing package. The library's tests and examples count as programs.
func ownCode(function string) bool {
	pkg := packageOf(function)
	if pkg == "runtime" || pkg == "testing" {
		return true
	}
	below, ok := strings.CutPrefix(pkg, "github.com/purecuda/cuda/")
	if !ok || strings.HasSuffix(pkg, "_test") {
		return false
	}
	switch first, _, _ := strings.Cut(below, "/"); first {
	case "driver", "graph", "loader", "ptx":
		return true
	}
	return below == "internal/gputest" || below == "internal/faulty"
}

// packageOf returns the package of a function: everything up to the first dot after the last slash.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + name
}

func shortName(function string) string {
	function = lastPart(function)
	if i := strings.IndexByte(function, '['); i >= 0 { // type arguments
		function = function[:i]
	}
	return function
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// at returns verb followed by the trace, or "" if the trace is empty.
func (t *Trace) at(verb string) string {
	if s := t.String(); s != "" {
		return verb + s
	}
	return ""
}
