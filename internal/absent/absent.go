// Package absent creates the error for a call on a nil object, or on a zero object that no
// constructor created. The error says whether the object is nil or zero, and names a constructor.
// Methods without an error result return zero values instead.
package absent

import "fmt"

// Kind describes a kind of object.
type Kind struct {
	Name string // for example "stream"
	Make string // constructor, for example "Context.NewStream"
	Code error  // error code that the error matches, such as a driver's code
}

// Error returns the error for a call on a nil object, or on a zero object if isNil is false.
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

func (f *failure) Unwrap() error { return f.code }

// Apply applies every option that is not nil to its second argument.
func Apply[Option ~func(T), T any](options []Option, to T) {
	for _, o := range options {
		if o != nil {
			o(to)
		}
	}
}
