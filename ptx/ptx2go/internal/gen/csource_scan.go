package gen

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ctoken is a word, a number or a punctuation mark of a CUDA source.
type ctoken struct {
	text string
	file string
	line int
	doc  string // comment that ends on the previous line; set only for the first token of a line
}

// csourceText splits a CUDA source into tokens. It understands only the C that
// declarations of kernels and structs need. It expands only macros of the form #define
// NAME number.
type csourceText struct {
	file   string
	depth  int // nesting depth of includes
	src    string
	off    int
	line   int
	doc    []string // comment lines after the last token
	docEnd int      // number of the last line of the comment in doc
	tokens []ctoken
	macros map[string]int64
}

func scanC(path, src string) *csourceText {
	s := &csourceText{file: path, src: src, line: 1, macros: map[string]int64{}}
	s.scan()
	return s
}

func (s *csourceText) scan() {
	for s.off < len(s.src) {
		s.step()
	}
}

func (s *csourceText) rest() string { return s.src[s.off:] }

// step consumes one token, comment, directive or space.
func (s *csourceText) step() {
	rest := s.rest()
	c := rest[0]
	switch {
	case c == '\n':
		s.line++
		s.off++
	case c == ' ' || c == '\t' || c == '\r':
		s.off++
	case strings.HasPrefix(rest, "//"):
		s.comment(cut(rest, "\n", 0))
	case strings.HasPrefix(rest, "/*"):
		s.comment(cut(rest, "*/", 2))
	case c == '#':
		s.directive()
	case c == '"' || c == '\'':
		s.token(quoted(rest))
	case isWordByte(c):
		n := 1
		for n < len(rest) && isWordByte(rest[n]) {
			n++
		}
		s.token(rest[:n])
	default:
		s.token(rest[:1])
	}
}

// cut returns s up to a mark, including the first "with" bytes of the mark.
func cut(s, mark string, with int) string {
	if i := strings.Index(s[min(with, len(s)):], mark); i >= 0 {
		return s[:i+min(with, len(s))+with]
	}
	return s
}

// quoted returns the string or character literal at the start of s.
func quoted(s string) string {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return s[:i+1]
		case '\n':
			return s[:i]
		}
	}
	return s
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func (s *csourceText) token(text string) {
	t := ctoken{text: text, file: s.file, line: s.line}
	if len(s.doc) > 0 && s.docEnd >= s.line-1 {
		t.doc = strings.TrimSpace(strings.Join(s.doc, "\n"))
	}
	s.doc = nil
	s.tokens = append(s.tokens, t)
	s.pass(text)
}

func (s *csourceText) pass(text string) {
	s.line += strings.Count(text, "\n")
	s.off += len(text)
}

// comment joins the lines of consecutive comments. It ignores a comment after a token on
// the same line, because that comment does not describe the next token.
func (s *csourceText) comment(text string) {
	begin := s.line
	s.pass(text)
	if n := len(s.tokens); n > 0 && s.tokens[n-1].line == begin {
		return
	}
	if begin > s.docEnd+1 {
		s.doc = nil
	}
	s.doc = append(s.doc, uncomment(text)...)
	s.docEnd = s.line
}

// uncomment strips the comment markers from a comment.
func uncomment(text string) []string {
	if rest, ok := strings.CutPrefix(text, "//"); ok {
		return []string{strings.TrimRight(strings.TrimPrefix(strings.TrimLeft(rest, "/!"), " "), " \r\t")}
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/")
	lines := strings.Split(strings.TrimPrefix(text, "*"), "\n")
	for i, l := range lines {
		l = strings.TrimSpace(l)
		lines[i] = strings.TrimPrefix(strings.TrimPrefix(l, "*"), " ")
	}
	return lines
}

// directive consumes a preprocessor directive with its continuation lines.
func (s *csourceText) directive() {
	text := ""
	for {
		line := cut(s.rest(), "\n", 0)
		s.pass(line)
		text += line
		if !strings.HasSuffix(strings.TrimRight(line, "\r"), "\\") || s.off >= len(s.src) {
			break
		}
		s.pass("\n")
	}
	s.doc = nil
	w := strings.Fields(text)
	if len(w) == 2 && w[0] == "#include" {
		s.include(w[1])
	}
	if len(w) == 3 && w[0] == "#define" {
		if n, err := strconv.ParseInt(strings.Trim(w[2], "()uUlL"), 0, 64); err == nil {
			s.macros[w[1]] = n
		}
	}
}

// maxIncludes bounds the work for a file that includes itself.
const maxIncludes = 16

// include scans a file included by "name". It skips files that do not exist, such as
// CUDA's own headers.
func (s *csourceText) include(name string) {
	if len(name) < 3 || name[0] != '"' || s.depth == maxIncludes {
		return
	}
	path := filepath.Join(filepath.Dir(s.file), strings.Trim(name, "\""))
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	in := &csourceText{file: path, depth: s.depth + 1, src: string(text), line: 1, macros: s.macros, tokens: s.tokens}
	in.scan()
	s.tokens = in.tokens
}
