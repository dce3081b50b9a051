package isa

import (
	"fmt"
	"io"
	"strconv"

	"github.com/purecuda/cuda/ptx"
)

// maxErrors is the maximum number of errors that one Check reports.
const maxErrors = 10_000

// Error is one violation at a position in a module. NVIDIA's compiler would reject the
// code there.
type Error struct {
	File    string // name of the module
	Pos     ptx.Pos
	Problem string // the violation and the correct form
}

// Error returns the position and the problem in one line.
func (e *Error) Error() string {
	name := e.File
	if name == "" {
		name = "ptx"
	}
	return name + ":" + strconv.Itoa(int(e.Pos.Line)) + ":" + strconv.Itoa(int(e.Pos.Col)) + ": " + e.Problem
}

// Errors is the error that Check returns, in source order. errors.As finds the first
// *Error in it.
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

// Unwrap returns the errors as a list for errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, err := range e {
		out[i] = err
	}
	return out
}
