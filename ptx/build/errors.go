package build

import (
	"fmt"
	"io"
	"strings"
)

// Error is one problem in a module under construction.
type Error struct {
	In      string // name of the kernel, function or variable; "" for the module
	Instr   string // the instruction in PTX; "" if the problem is elsewhere
	Problem string // the problem and the correct form
}

// Error formats the location and the problem in one line.
func (e *Error) Error() string {
	if e == nil {
		return "build: no error"
	}
	var b strings.Builder
	b.WriteString("build: ")
	if e.In != "" {
		b.WriteString(e.In + ": ")
	}
	if e.Instr != "" {
		b.WriteString(e.Instr + " ")
	}
	b.WriteString(e.Problem)
	return b.String()
}

// Errors is the error that [Module.Build] returns. It contains first the problems found during
// construction, then those found in the complete module, each in the order of the module.
type Errors []*Error

// Error returns the message of the first error and the number of further errors.
func (e Errors) Error() string {
	switch len(e) {
	case 0:
		return "no error"
	case 1:
		return e[0].Error()
	}
	return fmt.Sprintf("%v (and %d more)", e[0], len(e)-1)
}

// Format writes Error for %v and %s. For %+v it writes each error on its own line.
func (e Errors) Format(f fmt.State, verb rune) {
	if verb != 'v' || !f.Flag('+') {
		_, _ = io.WriteString(f, e.Error())
		return
	}
	for i, one := range e {
		if i > 0 {
			_, _ = io.WriteString(f, "\n")
		}
		_, _ = io.WriteString(f, one.Error())
	}
}

// Unwrap returns the errors as a list, for errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, err := range e {
		out[i] = err
	}
	return out
}
