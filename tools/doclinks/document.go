package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/purecuda/cuda/tools/internal/doc"
)

type document struct {
	links   []link
	anchors map[string]bool
}

type link struct {
	target string
	line   int
}

var (
	inline    = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	reference = regexp.MustCompile(`^\s{0,3}\[[^\]]+\]:\s+<?(\S+?)>?(?:\s+".*")?\s*$`)
	bare      = regexp.MustCompile(`<(https?:[^>\s]*)>`)
	html      = regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`)
	codeSpan  = regexp.MustCompile("`+[^`]*`+")
	heading   = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*\s*$`)
	linkText  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

func parse(text string) *document {
	d := &document{anchors: map[string]bool{}}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		fence, _, ok := doc.Fence(lines[i])
		if !ok {
			d.read(lines[i], i+1)
			continue
		}
		if i = doc.End(lines, i, fence); i < 0 {
			break // the code block is not closed
		}
	}
	return d
}

// read collects the links and anchors of a line that is not code.
func (d *document) read(line string, number int) {
	if m := heading.FindStringSubmatch(line); m != nil {
		d.heading(m[1])
	}
	for _, m := range html.FindAllStringSubmatch(line, -1) {
		d.anchors[m[1]] = true
	}
	plain := codeSpan.ReplaceAllString(line, "")
	for _, re := range []*regexp.Regexp{inline, reference, bare} {
		for _, m := range re.FindAllStringSubmatch(plain, -1) {
			d.links = append(d.links, link{m[1], number})
		}
	}
}

// heading records the anchor of a heading: its letters, digits, hyphens and underscores in
// lower case, with hyphens for spaces. If the heading repeats an earlier one, its anchor
// also has a number.
func (d *document) heading(text string) {
	text = linkText.ReplaceAllString(text, "$1")
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	name := b.String()
	for i := 1; d.anchors[name]; i++ {
		name = fmt.Sprintf("%s-%d", b.String(), i)
	}
	d.anchors[name] = true
}
