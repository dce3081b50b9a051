package gpu

import (
	"runtime"
	"strings"
)

// site is the call stack at some point, innermost call first.
type site struct {
	pcs [12]uintptr
	n   int
}

// here returns the call stack of its caller.
func here() site {
	var s site
	s.n = runtime.Callers(2, s.pcs[:])
	return s
}

// frame returns the innermost frame outside of this package and package runtime.
func (s *site) frame() runtime.Frame {
	frames := runtime.CallersFrames(s.pcs[:s.n])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") && !strings.HasPrefix(f.Function, self) {
			return f
		}
		if !more {
			return runtime.Frame{}
		}
	}
}

// callerPC returns the program counter of a call, skip levels above the caller of callerPC.
func callerPC(skip int) uintptr {
	var pcs [1]uintptr
	runtime.Callers(skip+2, pcs[:])
	return pcs[0]
}

func frameOf(pc uintptr) runtime.Frame {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return f
}

// sameLine reports whether two calls are on the same line.
func sameLine(a, b uintptr) bool {
	if a == b {
		return true
	}
	f, g := frameOf(a), frameOf(b)
	return f.File == g.File && f.Line == g.Line
}

// self is the prefix of the names of this package's functions.
const self = "github.com/purecuda/cuda/ptx/gpu."
