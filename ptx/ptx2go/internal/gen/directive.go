package gen

import (
	"go/token"
	"strconv"
	"strings"
)

// marker starts a comment line with a directive for ptx2go.
const marker = "ptx2go:"

// directive is a comment line that begins with marker: a keyword and the rest of the
// line.
type directive struct {
	word, rest string
	at         place
}

// splitDoc separates the directives from the text of a comment that ends on the line above position
// at.
func splitDoc(doc string, at place) (text string, list []directive) {
	lines := strings.Split(doc, "\n")
	first := at.line - len(lines)
	kept := lines[:0]
	for i, line := range lines {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), marker)
		if !ok {
			kept = append(kept, line)
			continue
		}
		list = append(list, newDirective(rest, place{at.file, first + i}))
	}
	return strings.TrimSpace(strings.Join(kept, "\n")), list
}

func newDirective(s string, at place) directive {
	s = strings.TrimSpace(s)
	word, rest, _ := strings.Cut(s, " ")
	switch word {
	case "name", "block", "grid", "skip", "params", "struct":
		return directive{word, strings.TrimSpace(rest), at}
	}
	return directive{"params", s, at}
}

type spec struct {
	name string
	mode mode
	typ  string // Go type; "" if not stated
	ptr  bool   // the type is written as *T
}

// specs parses "in x float32, inout y float32, a float32, n uint32".
func (d directive) specs() ([]spec, error) {
	var out []spec
	for _, part := range splitList(d.rest) {
		s, err := parseSpec(part)
		if err != "" {
			return nil, d.at.errorf("%q: %s; write for example: %s in x float32, n uint32", strings.TrimSpace(part), err, marker)
		}
		out = append(out, s)
	}
	return out, nil
}

var modes = map[string]mode{"in": modeIn, "out": modeOut, "inout": modeInOut, "raw": modeRaw}

func parseSpec(s string) (spec, string) {
	var out spec
	words := strings.Fields(s)
	for len(words) > 1 && modes[words[0]] != modeNone {
		out.mode = out.mode.and(modes[words[0]])
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return out, "a parameter's name is missing"
	case !isName(words[0]) && !token.IsKeyword(words[0]):
		return out, strconv.Quote(words[0]) + " is not a parameter's name"
	}
	out.name = words[0]
	out.typ = strings.Join(words[1:], " ")
	out.typ, out.ptr = strings.CutPrefix(out.typ, "*")
	if out.mode == modeRaw && out.typ != "" {
		return out, "a raw address has no type"
	}
	return out, ""
}

// and combines two modes: "in out" and "out in" are inout. In all other combinations, the second
// mode replaces the first.
func (m mode) and(o mode) mode {
	if m == modeIn && o == modeOut || m == modeOut && o == modeIn {
		return modeInOut
	}
	return o
}

// splitList splits at commas outside brackets and braces.
func splitList(s string) []string {
	var out []string
	depth, start := 0, 0
	for i, c := range s {
		switch c {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[start:i])
				start = i + 1
			}
		}
	}
	return append(out, s[start:])
}

// block parses "256" or "16x16".
func (d directive) block() (b [3]int, err error) { return parseBlock(d.rest, d.at) }

func parseBlock(s string, at place) (b [3]int, err error) {
	parts := strings.Split(s, "x")
	if len(parts) > 3 {
		return b, at.errorf("a block has at most three sizes, not %q", s)
	}
	for i, p := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil || n < 1 || n > 1024 {
			return b, at.errorf("%q is not the size of a block; write 256 or 16x16", s)
		}
		b[i] = n
	}
	return b, nil
}

// ParseBlock parses a block size: "256" or "16x16".
func ParseBlock(s string) ([3]int, error) { return parseBlock(s, place{file: "-block"}) }
