package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// texts compares whole files: *.ptx, and the PTX in string constants of *.go.
func texts(assemblers []*assembler, examples int, roots []string) error {
	dir, err := os.MkdirTemp("", "ptxfuzz")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var all []verdict
	unasked := 0
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			for i, text := range textsOf(path) {
				v := verdict{family: filepath.Base(root), what: fmt.Sprintf("%s#%d", path, i), ours: ours(text)}
				a := newestFor(assemblers, header(text, ".version"))
				if a == nil { // the module is newer than every assembler, so ptxas has no verdict
					unasked++
				} else {
					r, err := a.assemble(dir, text, a.arch(targetOf(text)), "-O0")
					if err != nil {
						return err
					}
					switch v.theirs = r.first(); {
					case strings.Contains(v.theirs, "Unresolved extern"):
						v.theirs = "" // the symbol is linked later
					case !r.ok && v.theirs == "":
						v.theirs = "refused"
					}
				}
				all = append(all, v)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	fmt.Printf("%d texts, %d of them newer than the assemblers: those are counted as valid\n", len(all), unasked)
	if _, refused, _, _ := report(all, examples); refused > 0 {
		return fmt.Errorf("%d texts that ptxas takes are refused", refused)
	}
	return nil
}

var ptxConstant = regexp.MustCompile("(?s)`(\\s*\\.version.*?)`")

// textsOf returns the PTX in a file.
func textsOf(path string) []string {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	switch filepath.Ext(path) {
	case ".ptx":
		return []string{string(b)}
	case ".go":
		var out []string
		for _, m := range ptxConstant.FindAllStringSubmatch(string(b), -1) {
			if !strings.Contains(m[1], "%%") { // a string with %% is a format for fmt.Sprintf, not PTX
				out = append(out, m[1])
			}
		}
		return out
	}
	return nil
}

// header returns the word after the first occurrence of a directive, or "" if there is none.
func header(text, directive string) string {
	_, rest, _ := strings.Cut(text, directive)
	if f := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" \t\r\n,;", r) }); len(f) > 0 {
		return f[0]
	}
	return ""
}

func targetOf(text string) string { return header(text, ".target") }
