package nvrtc

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// explain creates the error for a failed compilation. The hint is the first error in the log, with
// advice on common mistakes. The error also holds the log, with the source lines to which it
// refers.
func (c *Compiler) explain(p *Program, failure Code, log string) error {
	log = strings.TrimSpace(log)
	e := &Error{Func: "nvrtcCompileProgram", Code: failure, Program: p.name()}
	e.Log = annotate(log, p)
	e.Hint = firstComplaint(log, p)
	if advice := c.advise(p, failure, log); advice != "" {
		e.Hint += "; " + advice
	}
	return e
}

func (c *Compiler) advise(p *Program, failure Code, log string) string {
	switch {
	case strings.Contains(log, "--gpu-architecture"):
		return fmt.Sprintf("NVRTC %s compiles for %s", c.release(), c.archList())
	case cudaHeader.MatchString(log) && len(p.IncludePaths) == 0:
		return "for CUDA's own headers, set IncludePaths to Compiler.CUDAIncludes"
	case failure == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE:
		return "that library belongs beside " + c.Library() + ", or into a folder of the system's search"
	}
	return ""
}

var (
	// place matches the beginning of a message: file(12): error: text.
	place = regexp.MustCompile(`^(.+)\((\d+)\): ((?:[a-z]+ )?error|warning|remark)\b[^:]*: (.*)$`)
	// cudaHeader matches the error for a missing CUDA header.
	cudaHeader = regexp.MustCompile(`(?:cannot|could not) open source file "(cuda|cooperative_groups|mma|nv|cub/|thrust/)`)
)

type message struct {
	file     string
	line     int
	severity string
	text     string
}

func parseMessage(line string) (message, bool) {
	m := place.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
	if m == nil {
		return message{}, false
	}
	n, err := strconv.Atoi(m[2])
	return message{m[1], n, m[3], m[4]}, err == nil
}

func (m message) isError() bool { return strings.HasSuffix(m.severity, "error") }

// sourceLine returns the source line of a message, or "" if the program does not contain
// the line.
func (p *Program) sourceLine(m message) string {
	text, ok := p.Headers[m.file]
	if m.file == p.name() {
		text, ok = p.Source, true
	}
	if !ok {
		return ""
	}
	lines := strings.Split(text, "\n")
	if m.line < 1 || m.line > len(lines) {
		return ""
	}
	return strings.TrimRight(lines[m.line-1], "\r")
}

// firstComplaint returns the first error of the log in short form, and the number of
// other errors. If no message has a line number, it returns the first line of the log.
func firstComplaint(log string, p *Program) string {
	first, more := "", 0
	for line := range strings.Lines(log) {
		m, ok := parseMessage(line)
		switch {
		case !strings.Contains(line, "error: "):
			continue
		case first != "":
			more++
			continue
		case !ok || !m.isError():
			continue
		}
		first = fmt.Sprintf("%s:%d: %s", m.file, m.line, m.text)
		if source := strings.TrimSpace(p.sourceLine(m)); source != "" {
			first += fmt.Sprintf(" (%s)", source)
		}
	}
	if first == "" {
		first, _, _ = strings.Cut(log, "\n")
		return strings.TrimPrefix(strings.TrimSpace(first), "nvrtc: error: ")
	}
	switch more {
	case 0:
		return first
	case 1:
		return first + "; and 1 more error"
	}
	return fmt.Sprintf("%s; and %d more errors", first, more)
}

// annotate adds the source line below each message, unless the log already contains that line, as
// it does with newer compilers.
func annotate(log string, p *Program) string {
	lines := strings.Split(log, "\n")
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(strings.TrimRight(line, "\r") + "\n")
		m, ok := parseMessage(line)
		if !ok {
			continue
		}
		source := p.sourceLine(m)
		shown := i+1 < len(lines) && strings.TrimSpace(lines[i+1]) == strings.TrimSpace(source)
		if strings.TrimSpace(source) != "" && !shown {
			fmt.Fprintf(&b, "%7d | %s\n", m.line, source)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
