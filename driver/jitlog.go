package driver

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// explain adds the compiler's log to the error of a load: the first complaint to the one-line text,
// the whole log, with the PTX lines it refers to, to %+v.
func (j *jit) explain(err error, ptx []byte) error {
	var e *Error
	if !errors.As(err, &e) || e.Missing {
		return err
	}
	log := strings.TrimSpace(cString(j.err))
	if log == "" {
		return err
	}
	lines := strings.Split(string(ptx), "\n")
	explained := *e
	explained.Log = annotate(log, lines)
	if first := firstComplaint(log, lines); first != "" {
		explained.Hint = withInput(j.input, first)
	}
	return &explained
}

// withInput puts the name of the linker's input before a complaint that does not name it.
func withInput(input, complaint string) string {
	if input == "" || strings.Contains(complaint, "'"+input+"'") {
		return complaint
	}
	return input + ": " + complaint
}

// annotate inserts, below each line of the log, the PTX line that it names.
func annotate(log string, ptx []string) string {
	var b strings.Builder
	shown := 0
	for line := range strings.Lines(log) {
		b.WriteString(strings.TrimRight(line, "\n") + "\n")
		if n := lineNumber(line); n > 0 && n <= len(ptx) && n != shown {
			fmt.Fprintf(&b, "%7d | %s\n", n, strings.TrimRight(ptx[n-1], "\r"))
			shown = n
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// firstComplaint returns, shortened, the first line of the log that names a line of PTX. If there
// is none, it returns the first line.
func firstComplaint(log string, ptx []string) string {
	for line := range strings.Lines(log) {
		n := lineNumber(line)
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("PTX line %d: %s", n, complaint(line))
		if n <= len(ptx) {
			text += fmt.Sprintf(" (%s)", strings.TrimSpace(ptx[n-1]))
		}
		return text
	}
	first, _, _ := strings.Cut(log, "\n")
	return complaint(first)
}

// lineNumber returns the 12 of "line 12" in a line of the log, 0 if there is none.
func lineNumber(s string) int {
	const word = "line "
	for i := strings.Index(s, word); i >= 0; {
		rest := s[i+len(word):]
		if n := leadingNumber(rest); n > 0 {
			return n
		}
		next := strings.Index(rest, word)
		if next < 0 {
			return 0
		}
		i += len(word) + next
	}
	return 0
}

func leadingNumber(s string) int {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		return 0
	}
	return n
}

// complaint returns the text after the position and the severity: "ptxas application ptx input,
// line 9; error   : Unknown symbol 'x'".
func complaint(line string) string {
	text := line
	if _, after, ok := strings.Cut(text, ";"); ok {
		text = after
	}
	if before, after, ok := strings.Cut(text, ":"); ok && len(strings.Fields(before)) == 1 {
		text = after
	}
	return strings.TrimSpace(text)
}
