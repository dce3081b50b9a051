package nvrtc

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// scan finds the headers on disk that a program can reach, and adds their paths and contents to its
// key. NVRTC does not report which headers it read. Therefore scan adds every header named in any
// #include or __has_include. It ignores #if. If several folders contain a header with that name, it
// adds all of these headers.
type scan struct {
	p       *Program
	d       digest
	folders []string
	seen    map[string]bool
	bytes   int64
	opaque  bool // an #include cannot be resolved
}

// Limits on the headers that scan reads.
const (
	maxScanFiles = 10_000
	maxScanBytes = 256 << 20
)

func newScan(p *Program, d digest) *scan {
	folders := append([]string{filepath.Dir(p.name()), "."}, p.IncludePaths...)
	return &scan{p: p, d: d, folders: append(folders, optionFolders(p.Options)...), seen: make(map[string]bool)}
}

// run adds all headers that the program can reach, and reports whether all dependencies could be
// found.
func (s *scan) run() bool {
	s.text(".", s.p.Source)
	for _, name := range slices.Sorted(maps.Keys(s.p.Headers)) {
		s.text(".", s.p.Headers[name])
	}
	for _, name := range includedFirst(s.p.Options) {
		s.include(".", name)
	}
	return !s.opaque
}

var (
	// directive matches a line with #include and the rest of the line. A comment may
	// precede the directive or be inside it.
	directive = regexp.MustCompile(`^(?:.*\*/)?[ \t\v\f]*(?:#|%:|\?\?=)(?:[ \t\v\f]|/\*.*?\*/)*include(?:_next)?\b(?:[ \t\v\f]|/\*.*?\*/)*(.*)`)
	// question matches __has_include and its argument.
	question = regexp.MustCompile(`\b__has_include(?:_next)?[ \t]*\([ \t]*("[^"]*"|<[^>]*>|)`)

	splices = strings.NewReplacer("\\\r\n", "", "\\\n", "")
)

// text adds the headers that source in the given folder includes.
func (s *scan) text(folder, text string) {
	if strings.Contains(text, "\\\n") || strings.Contains(text, "\\\r\n") {
		text = splices.Replace(text)
	}
	for !s.opaque {
		at := strings.Index(text, "include")
		if at < 0 {
			return
		}
		begin := strings.LastIndexByte(text[:at], '\n') + 1
		line, rest, _ := strings.Cut(text[begin:], "\n")
		s.line(folder, strings.TrimRight(line, "\r"))
		text = rest
	}
}

// line adds the headers named in a line.
func (s *scan) line(folder, line string) {
	found := question.FindAllStringSubmatch(line, -1)
	if m := directive.FindStringSubmatch(line); m != nil {
		found = append(found, m)
	}
	for _, m := range found {
		if name, ok := headerName(m[1]); ok {
			s.include(folder, name)
		} else {
			s.opaque = true // a macro names the header
		}
	}
}

// headerName parses "name" or <name>.
func headerName(rest string) (string, bool) {
	if rest == "" {
		return "", false
	}
	closing := map[byte]string{'"': `"`, '<': ">"}[rest[0]]
	if closing == "" {
		return "", false
	}
	name, _, ok := strings.Cut(rest[1:], closing)
	return name, ok && name != ""
}

// include adds every file to which the name can refer.
func (s *scan) include(folder, name string) {
	if filepath.IsAbs(name) {
		s.file(name)
		return
	}
	s.file(filepath.Join(folder, name))
	for _, f := range s.folders {
		s.file(filepath.Join(f, name))
	}
}

// file adds a file if it exists.
func (s *scan) file(path string) {
	path, err := filepath.Abs(path)
	if err != nil {
		s.opaque = true
		return
	}
	if s.seen[path] || s.opaque {
		return
	}
	s.seen[path] = true
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	s.bytes += info.Size()
	if len(s.seen) > maxScanFiles || s.bytes > maxScanBytes {
		s.opaque = true
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		s.opaque = true // NVRTC may be able to read the file
		return
	}
	s.d.add(path, string(text))
	s.text(filepath.Dir(path), string(text))
}

func optionFolders(options []string) []string {
	return optionValues(options, "-I", "--include-path")
}

// includedFirst returns the headers that options include before the source.
func includedFirst(options []string) []string {
	return optionValues(options, "-include", "--pre-include")
}

// optionValues returns the values in NAME=VALUE, NAME VALUE and, for one-letter names,
// NAMEVALUE.
func optionValues(options []string, names ...string) []string {
	var values []string
	for i, o := range options {
		for _, name := range names {
			rest, ok := strings.CutPrefix(o, name)
			switch {
			case !ok:
			case rest == "" && i+1 < len(options):
				values = append(values, options[i+1])
			case strings.HasPrefix(rest, "="):
				values = append(values, rest[1:])
			case strings.HasPrefix(rest, " "), len(name) == 2:
				values = append(values, strings.TrimSpace(rest))
			}
		}
	}
	return values
}
