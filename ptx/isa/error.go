package isa

import (
	"fmt"
	"io"
	"strconv"

	"github.com/purecuda/cuda/ptx"
)

// maxErrors is how many errors one Check reports.
const maxErrors = 10_000

// Error is one thing in a module that NVIDIA's compiler refuses.
type Error struct {
	File    string // the module's name
	Pos     ptx.Pos
	Problem string // what is wrong, and what would be right
}

// Error is the place and the problem in one line.
func (e *Error) Error() string {
	name := e.File
	if name == "" {
		name = "ptx"
	}
	return name + ":" + strconv.Itoa(int(e.Pos.Line)) + ":" + strconv.Itoa(int(e.Pos.Col)) + ": " + e.Problem
}

// Errors is what Check returns, in the order of the text. errors.As finds the
// first *Error in it.
type Errors []*Error

// Error is the first error, and how many there are.
func (e Errors) Error() string {
	switch len(e) {
	case 0:
		return "no error"
	case 1:
		return e[0].Error()
	}
	return fmt.Sprintf("%v (and %d more)", e[0], len(e)-1)
}

// Format writes Error for %v and %s, every error on a line of its own for %+v.
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

// Unwrap gives the errors one by one.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, err := range e {
		out[i] = err
	}
	return out
}
