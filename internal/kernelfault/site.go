package kernelfault

import (
	"bytes"
	"strconv"
	"strings"
)

// Symbol is the name of a variable that every module with checks has.
const Symbol = "__purecuda_fault"

// Possible reports whether an image may contain checks. Fat binaries always may, because their
// entries can be compressed, so that the name need not occur in the image.
func Possible(data []byte, fatbin bool) bool { return fatbin || bytes.Contains(data, []byte(Symbol)) }

// Site describes a check in the source of a kernel.
type Site struct {
	Kind           string // kind of the check, such as index, slice, nil or divide
	Function, File string
	Line, Column   int
	Message        string
	constants      string // those values of a record that are constants, separated by commas; the others are empty
}

// complete sets the constant values, which kernels do not store in a record.
func (s *Site) complete(values *[3]int64) {
	for i, text := range strings.SplitN(s.constants, ",", len(values)) {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			values[i] = n
		}
	}
}

// parse parses the text of a site. Missing fields are empty. Newer compilers may omit some fields.
func parse(text []byte) (s Site) {
	fields := strings.SplitN(string(text), "\x00", 8)
	fields = append(fields, make([]string, 7)...)
	s.Kind, s.Function, s.File, s.Message, s.constants = fields[0], fields[1], fields[2], fields[5], fields[6]
	s.Line, _ = strconv.Atoi(fields[3])
	s.Column, _ = strconv.Atoi(fields[4])
	return s
}
