package gpu

import (
	"runtime"
	"strings"
)

// site is the stack of a call, innermost first.
type site struct {
	pcs [12]uintptr
	n   int
}

// here returns the stack of its caller.
func here() site {
	var s site
	s.n = runtime.Callers(2, s.pcs[:])
	return s
}

// frame returns the innermost frame outside this package and package runtime.
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

// same reports whether two calls are on the same line.
func (s *site) same(o *site) bool {
	if s.pcs == o.pcs {
		return true
	}
	a, b := s.frame(), o.frame()
	return a.File == b.File && a.Line == b.Line
}

// self begins the names of the functions of this package.
const self = "github.com/purecuda/cuda/ptx/gpu."
