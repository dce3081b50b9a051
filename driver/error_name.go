package driver

import "fmt"

// Named puts a name before an error's text, such as that of the file whose code could not be
// loaded. Unlike an error wrapped by fmt.Errorf, it still prints the compiler's log with %+v. It
// returns nil for a nil error.
func Named(name string, err error) error {
	if err == nil {
		return nil
	}
	return &namedError{name, err}
}

type namedError struct {
	name string
	err  error
}

func (e *namedError) Error() string { return e.name + ": " + e.err.Error() }
func (e *namedError) Unwrap() error { return e.err }

// Format implements fmt.Formatter, so that %+v reaches the wrapped error.
func (e *namedError) Format(s fmt.State, verb rune) {
	fmt.Fprintf(s, "%s: "+fmt.FormatString(s, verb), e.name, e.err)
}
