package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/purecuda/cuda/tools/internal/doc"
)

// A directive is a comment line before a code block. It names the source of the code.
type directive struct {
	line  int
	file  string
	part  string
	none  bool // the code is not from this repository
	valid bool // the line is a directive
}

const (
	opening = "<!-- snippet:"
	closing = "-->"
)

// rewrite returns the document with new contents for every code block that has a directive. part
// returns the contents for a file and a part name.
func rewrite(name, text string, part func(file, part string) (string, error)) (string, error) {
	w := &writer{name: name, lines: strings.Split(text, "\n"), part: part}
	for i := 0; i < len(w.lines); {
		i = w.next(i)
	}
	w.pending()
	return strings.Join(w.out, "\n"), errors.Join(w.errs...)
}

type writer struct {
	name  string
	lines []string
	part  func(file, part string) (string, error)

	before directive // the last directive, until the code block that follows it
	out    []string
	errs   []error
}

func (w *writer) fail(line int, err error) {
	w.errs = append(w.errs, fmt.Errorf("%s:%d: %w", w.name, line, err))
}

// pending records an error if no code block followed the last directive, and forgets the directive.
func (w *writer) pending() {
	if w.before.valid {
		w.fail(w.before.line, errors.New("no block of code follows it"))
	}
	w.before = directive{}
}

// next processes line i and returns the index of the next line to process.
func (w *writer) next(i int) int {
	line := strings.TrimSpace(w.lines[i])
	fence, language, block := doc.Fence(w.lines[i])
	switch {
	case block:
		return w.block(i, fence, language)
	case strings.HasPrefix(line, opening):
		w.directive(line, i+1)
	case line != "":
		w.pending()
	}
	w.out = append(w.out, w.lines[i])
	return i + 1
}

func (w *writer) directive(line string, number int) {
	w.pending()
	d, err := parse(line, number)
	if err != nil {
		w.fail(number, err)
	}
	w.before = d
}

func (w *writer) block(begin int, fence, language string) int {
	end := doc.End(w.lines, begin, fence)
	if end < 0 {
		w.fail(begin+1, errors.New("this block of code has no end"))
		end = len(w.lines) - 1
	}
	w.out = append(w.out, w.lines[begin])
	w.out = append(w.out, w.body(begin, end, language)...)
	w.out = append(w.out, w.lines[end])
	w.before = directive{}
	return end + 1
}

// body returns the new contents of the code block whose fences are the lines begin and end.
func (w *writer) body(begin, end int, language string) []string {
	d, now := w.before, w.lines[begin+1:max(end, begin+1)]
	if !d.valid {
		if language == "go" {
			w.fail(begin+1, fmt.Errorf("this Go does not say which compiled code it is: put %s file.go#part %s before it", opening, closing))
		}
		return now
	}
	if d.none {
		return now
	}
	got, err := w.part(d.file, d.part)
	if err != nil {
		w.fail(d.line, err)
		return now
	}
	return strings.Split(strings.TrimSuffix(got, "\n"), "\n")
}

func parse(line string, number int) (directive, error) {
	s := strings.TrimSpace(line)
	s, ok := strings.CutSuffix(strings.TrimPrefix(s, opening), closing)
	s = strings.TrimSpace(s)
	if !ok || s == "" {
		return directive{line: number, valid: true, none: true}, fmt.Errorf("write %s file#part %s", opening, closing)
	}
	d := directive{line: number, valid: true}
	if reason, ok := strings.CutPrefix(s, "none"); ok && (reason == "" || reason[0] == ':') {
		d.none = true
		if strings.TrimSpace(strings.TrimPrefix(reason, ":")) == "" {
			return d, errors.New("say after none: what code it is")
		}
		return d, nil
	}
	d.file, d.part, _ = strings.Cut(s, "#")
	return d, nil
}
