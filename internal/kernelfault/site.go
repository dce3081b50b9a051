package kernelfault

import (
	"bytes"
	"strconv"
	"strings"
)

// Symbol is the variable of modules with checks.
const Symbol = "__purecuda_fault"

// Possible reports whether an image may have checks. A fat binary may be compressed, so the name need
// not occur in it.
func Possible(data []byte, fatbin bool) bool { return fatbin || bytes.Contains(data, []byte(Symbol)) }

// Site is a check in the source of a kernel.
type Site struct {
	Kind           string // index, slice, nil, divide, …
	Function, File string
	Line, Column   int
	Message        string
}

// parse reads the text of a site. Missing fields are empty, because newer compilers may omit some.
func parse(text []byte) (s Site) {
	fields := strings.SplitN(string(text), "\x00", 7)
	fields = append(fields, make([]string, 6)...)
	s.Kind, s.Function, s.File, s.Message = fields[0], fields[1], fields[2], fields[5]
	s.Line, _ = strconv.Atoi(fields[3])
	s.Column, _ = strconv.Atoi(fields[4])
	return s
}
