package source

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"
)

// Error is a problem in the source.
type Error struct {
	Pos token.Position // with the file name from Config
	Msg string
}

func (e *Error) Error() string {
	if e.Pos.Filename == "" {
		return e.Msg
	}
	return fmt.Sprintf("%v: %s", e.Pos, e.Msg)
}

// Errors is a list of errors, sorted by position.
type Errors []*Error

// Error returns all errors, one per line.
func (l Errors) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors in the list, for errors.As.
func (l Errors) Unwrap() []error {
	out := make([]error, len(l))
	for i, e := range l {
		out[i] = e
	}
	return out
}

// Add appends an error.
func (l *Errors) Add(pos token.Position, format string, args ...any) {
	*l = append(*l, &Error{pos, fmt.Sprintf(format, args...)})
}

// Err returns nil if the list is empty. Otherwise it returns the list, sorted and without
// duplicates.
func (l Errors) Err() error {
	if len(l) == 0 {
		return nil
	}
	sorted := slices.Clone(l)
	slices.SortStableFunc(sorted, func(a, b *Error) int {
		return cmp.Or(strings.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column), strings.Compare(a.Msg, b.Msg))
	})
	return slices.CompactFunc(sorted, func(a, b *Error) bool { return *a == *b })
}
