package main

import (
	"fmt"
	"go/build"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

type source struct{ root string }

// part returns a part of a file, or the whole file if name is empty.
func (s source) part(file, name string) (string, error) {
	path := filepath.Join(s.root, filepath.FromSlash(file))
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return "", fmt.Errorf("%s lies outside the repository", file)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("no file %s: %w", file, err)
	}
	if err := compiled(path, file); err != nil {
		return "", err
	}
	part := cut
	if example, ok := strings.CutSuffix(name, outputSuffix); ok {
		name, part = example, output
	}
	got, err := part(string(text), name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return got, nil
}

// outputSuffix follows the name of an example to select its output instead of its code.
const outputSuffix = "/output"

// output returns the output that the example must print for its test to pass.
func output(text, name string) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	for _, e := range doc.Examples(f) {
		if "Example"+e.Name == name || "Example_"+e.Suffix == name {
			if e.Output == "" {
				return "", fmt.Errorf("%s prints nothing that its test compares", name)
			}
			return strings.TrimSuffix(e.Output, "\n") + "\n", nil
		}
	}
	return "", fmt.Errorf("no example is called %s", name)
}

// compiled returns an error if a build for linux/amd64 without cgo does not include the Go file.
func compiled(path, file string) error {
	if !strings.HasSuffix(file, ".go") {
		return nil
	}
	for _, dir := range strings.Split(file, "/") {
		if dir == "testdata" || strings.HasPrefix(dir, "_") || strings.HasPrefix(dir, ".") {
			return fmt.Errorf("%s is not compiled: it lies below %s", file, dir)
		}
	}
	ctx := build.Default
	ctx.GOOS, ctx.GOARCH, ctx.CgoEnabled = "linux", "amd64", false
	ok, err := ctx.MatchFile(filepath.Split(path))
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s is not compiled: its build constraints leave it out on linux/amd64", file)
	}
	return nil
}

// cut returns the part called name without its indentation and without marker lines.
func cut(text, name string) (string, error) {
	var stack []string
	var out []string
	found := false
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch mark, ok := markOf(line); {
		case !ok:
			if name == "" || slices.Contains(stack, name) {
				out = append(out, line)
			}
		case mark == "end":
			if len(stack) == 0 {
				return "", fmt.Errorf("line %d: [end] ends nothing", i+1)
			}
			stack = stack[:len(stack)-1]
		default:
			if mark == name && found {
				out = append(out, "")
			}
			found = found || mark == name
			stack = append(stack, mark)
		}
	}
	if len(stack) > 0 {
		return "", fmt.Errorf("part %s has no [end]", stack[len(stack)-1])
	}
	if name != "" && !found {
		return "", fmt.Errorf("no part is called %s: mark it with // [%s] and // [end]", name, name)
	}
	out = margin(trim(out))
	if len(out) == 0 {
		return "", fmt.Errorf("part %s is empty", name)
	}
	return strings.Join(out, "\n") + "\n", nil
}

// markOf returns the name in a marker line, such as "// [capture]".
func markOf(line string) (string, bool) {
	s := strings.TrimSpace(line)
	s, ok := strings.CutPrefix(s, "//")
	if !ok {
		if s, ok = strings.CutPrefix(s, "#"); !ok {
			return "", false
		}
	}
	s = strings.TrimSpace(s)
	if len(s) < 3 || s[0] != '[' || s[len(s)-1] != ']' {
		return "", false
	}
	name := s[1 : len(s)-1]
	return name, !strings.ContainsAny(name, " \t[]\"")
}

// trim removes empty lines at both ends. It also replaces several adjacent empty lines, which a
// removed marker can leave, with one.
func trim(lines []string) []string {
	var out []string
	for _, line := range lines {
		empty := strings.TrimSpace(line) == ""
		if empty && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		if empty {
			line = ""
		}
		out = append(out, line)
	}
	if n := len(out); n > 0 && out[n-1] == "" {
		out = out[:n-1]
	}
	return out
}

// margin removes the indentation common to all lines.
func margin(lines []string) []string {
	indent, first := "", true
	for _, line := range lines {
		if line == "" {
			continue
		}
		own := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		if first {
			indent, first = own, false
		}
		for !strings.HasPrefix(own, indent) {
			indent = indent[:len(indent)-1]
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, indent)
	}
	return lines
}
