package corpus

import (
	"fmt"
	"strconv"
	"strings"
)

// scanner parses a line of directives. After the first error it does not read any further.
type scanner struct {
	rest string
	err  error
}

func (s *scanner) skip() { s.rest = strings.TrimLeft(s.rest, " \t") }

func (s *scanner) at(text string) bool {
	s.skip()
	return s.err == nil && strings.HasPrefix(s.rest, text)
}

func (s *scanner) has(text string) bool {
	if !s.at(text) {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

func (s *scanner) want(text string) {
	if !s.has(text) {
		s.fail(fmt.Sprintf("expected %q", text))
	}
}

func (s *scanner) fail(problem string) {
	if s.err != nil {
		return
	}
	rest := s.rest
	if rest == "" {
		rest = "the end of the line"
	}
	s.err = fmt.Errorf("%s before %s", problem, rest)
}

func (s *scanner) word(what string) string {
	s.skip()
	n := strings.IndexFunc(s.rest, func(r rune) bool { return !isWord(r) })
	if n < 0 {
		n = len(s.rest)
	}
	if n == 0 {
		s.fail("expected " + what)
	}
	if s.err != nil {
		return ""
	}
	w := s.rest[:n]
	s.rest = s.rest[n:]
	return w
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-+$", r)
}

func (s *scanner) integer() int64 {
	text := s.word("a whole number")
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		s.fail(fmt.Sprintf("%q is not a whole number", text))
	}
	return n
}

func (s *scanner) float() float64 {
	text := s.word("a number")
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		s.fail(fmt.Sprintf("%q is not a number", text))
	}
	return f
}

func (s *scanner) end() {
	if s.skip(); s.rest != "" {
		s.fail("nothing more expected")
	}
}
