// Package absent handles calls on objects that are nil, or that are zero because no
// constructor made them. Such a call returns an error that says which of the two it is
// and what constructs the object. A method without an error result returns zero values.
package absent

import "fmt"

// Kind is a kind of object.
type Kind struct {
	Name string // "stream"
	Make string // what constructs one: "Context.NewStream"
	Code error  // the code that the error matches, such as the driver's
}

// Error returns the error of a call on such an object.
func (k *Kind) Error(isNil bool) error {
	what := "zero"
	if isNil {
		what = "nil"
	}
	return &failure{fmt.Sprintf("%s %s: make one with %s", what, k.Name, k.Make), k.Code}
}

type failure struct {
	msg  string
	code error
}

func (f *failure) Error() string { return f.msg }

// Unwrap returns the code.
func (f *failure) Unwrap() error { return f.code }

// Apply applies options. A nil option has no effect.
func Apply[Option ~func(T), T any](options []Option, to T) {
	for _, o := range options {
		if o != nil {
			o(to)
		}
	}
}
