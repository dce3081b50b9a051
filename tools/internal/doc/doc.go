// Package doc contains helpers for the tools that read or write the repository's documents.
package doc

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Main runs a document generator. It parses the flags -root and -check and passes them to run.
func Main(name string, run func(root string, check bool) error) {
	root := flag.String("root", "..", "the folder of the library's module")
	check := flag.Bool("check", false, "write nothing, fail if a document would change")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Write writes a document. With check, it instead fails if the document would change, and
// names the command that writes it.
func Write(path string, text []byte, check bool, command string) error {
	if !check {
		return os.WriteFile(path, text, 0o644)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, text) {
		return fmt.Errorf("%s:%d: this is not what the code says: %s", path, firstDifference(string(got), string(text)), command)
	}
	return nil
}

// firstDifference returns the number of the first line that differs.
func firstDifference(a, b string) int {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return i + 1
		}
	}
	return min(len(as), len(bs)) + 1
}

// Documents returns the Markdown files below root, except build output. The paths are
// relative to root, with slashes.
func Documents(root string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && made(d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".md") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("there is no document below %s", root)
	}
	return names, err
}

func made(folder string) bool {
	return strings.HasPrefix(folder, ".") || folder == "build" || folder == "bundle"
}

// Fence reports whether a line opens a code block, and returns its fence and language.
func Fence(line string) (fence, language string, ok bool) {
	s := strings.TrimLeft(line, " ")
	rest := strings.TrimLeft(s, "`")
	n := len(s) - len(rest)
	if n < 3 || strings.Contains(rest, "`") {
		return "", "", false
	}
	language, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
	return s[:n], language, true
}

// End returns the index of the line that ends the code block whose opening line is begin, or -1 if
// no line does.
func End(lines []string, begin int, fence string) int {
	for i := begin + 1; i < len(lines); i++ {
		s := strings.TrimSpace(lines[i])
		if strings.HasPrefix(s, fence) && strings.Trim(s, "`") == "" {
			return i
		}
	}
	return -1
}
