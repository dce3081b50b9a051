package ptx

import (
	"fmt"
	"strconv"
	"strings"
)

// maxErrors is the number of errors after which Parse stops.
const maxErrors = 20

// Error is one syntax error.
type Error struct {
	File     string // name passed to Parse; may be ""
	Pos      Pos
	Line     string // source line of the error, shortened if very long
	Expected string // "" if Problem contains the whole message
	Found    string // token that was found instead; set together with Expected
	Problem  string // the message for errors other than an unexpected token
	indent   int    // number of bytes of Line before the error
}

// Error returns one line: the position, the expected and the found token, and the source
// line.
func (e *Error) Error() string {
	if e == nil {
		return "no error"
	}
	return e.place() + e.what() + ": " + strings.TrimSpace(e.Line)
}

// Detail returns several lines: the message, the source line, and a marker under the
// error.
func (e *Error) Detail() string {
	if e == nil {
		return ""
	}
	mark := make([]byte, 0, e.indent+1)
	for _, c := range []byte(e.Line[:min(e.indent, len(e.Line))]) {
		if c == '\t' {
			mark = append(mark, '\t')
		} else if c&0xC0 != 0x80 { // add one mark per character, not per byte
			mark = append(mark, ' ')
		}
	}
	return e.place() + e.what() + "\n" + e.Line + "\n" + string(mark) + "^"
}

// Format writes Error for %v and %s, Detail for %+v.
func (e *Error) Format(f fmt.State, verb rune) { format(f, verb, e.Error, e.Detail) }

func (e *Error) place() string {
	name := e.File
	if name == "" {
		name = "ptx"
	}
	return name + ":" + strconv.Itoa(int(e.Pos.Line)) + ":" + strconv.Itoa(int(e.Pos.Col)) + ": "
}

func (e *Error) what() string {
	if e.Problem != "" {
		return e.Problem
	}
	return "expected " + e.Expected + ", found " + e.Found
}

// Errors is the error that Parse returns for syntax errors, in source order. errors.As
// finds the first *Error in it.
type Errors []*Error

// Error returns the message of the first error and the number of further errors.
func (e Errors) Error() string {
	switch len(e) {
	case 0:
		return "no syntax error"
	case 1:
		return e[0].Error()
	}
	return e[0].Error() + " (and " + strconv.Itoa(len(e)-1) + " more)"
}

// Detail returns the details of all errors, one after the other.
func (e Errors) Detail() string {
	parts := make([]string, len(e))
	for i, err := range e {
		parts[i] = err.Detail()
	}
	return strings.Join(parts, "\n")
}

// Format writes Error for %v and %s, Detail for %+v.
func (e Errors) Format(f fmt.State, verb rune) { format(f, verb, e.Error, e.Detail) }

// Unwrap returns the errors as a list for errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, err := range e {
		out[i] = err
	}
	return out
}

func format(f fmt.State, verb rune, short, long func() string) {
	s := short
	if verb == 'v' && f.Flag('+') {
		s = long
	}
	if verb == 'q' {
		fmt.Fprint(f, strconv.Quote(s()))
		return
	}
	fmt.Fprint(f, s())
}

// lineAround returns the line of src that contains offset off, and the position of off
// in it. For a very long line it returns a window around off.
func lineAround(src string, off int) (line string, indent int) {
	const window = 100
	start := strings.LastIndexByte(src[:off], '\n') + 1
	end := len(src)
	if i := strings.IndexByte(src[off:], '\n'); i >= 0 {
		end = off + i
	}
	if end > start && src[end-1] == '\r' {
		end--
	}
	if end < off {
		end = off
	}
	prefix, suffix := "", ""
	if off-start > window {
		start, prefix = off-window, "..."
	}
	if end-off > window {
		end, suffix = off+window, "..."
	}
	return prefix + src[start:end] + suffix, len(prefix) + off - start
}
