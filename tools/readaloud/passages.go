package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/purecuda/cuda/tools/internal/doc"
)

// passages returns all comments and sentences in the files below root whose paths begin with under.
// The results are in the order of the paths.
func passages(root, under string) (comments, sentences []passage, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if path != root && skipped(rel, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasPrefix(rel, under) {
			return nil
		}
		switch filepath.Ext(path) {
		case ".go":
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found, err := commentsOf(rel, text)
			comments = append(comments, found...)
			return err
		case ".md":
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sentences = append(sentences, sentencesOf(rel, string(text))...)
		}
		return nil
	})
	for _, found := range [][]passage{comments, sentences} {
		for i := range found {
			found[i].root = root
		}
	}
	if err == nil && len(comments)+len(sentences) == 0 {
		err = fmt.Errorf("there is no comment and no sentence below %s", filepath.Join(root, under))
	}
	return comments, sentences, err
}

func skipped(rel, name string) bool {
	return strings.HasPrefix(name, ".") || name == "testdata" || rel == "build" || rel == "bundle" || rel == "docs/results"
}

// commentsOf returns the comments of a Go file without directives, or none if the file is
// generated.
func commentsOf(name string, text []byte) ([]passage, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}
	var all []passage
	for _, group := range file.Comments {
		text := strings.TrimSpace(group.Text()) // Text omits directives
		if !prose(text) || output.MatchString(text) || strings.HasPrefix(text, "+build") {
			continue
		}
		all = append(all, passage{file: name, line: set.Position(group.Pos()).Line, text: text})
	}
	return all, nil
}

// output matches the beginning of an example's output comment.
var output = regexp.MustCompile(`(?i)^(unordered )?output:`)

var (
	generated = regexp.MustCompile(`(?m)^<!-- Code generated .* DO NOT EDIT\.`)
	remark    = regexp.MustCompile(`<!--.*?-->`)
	item      = regexp.MustCompile(`^\s*(?:[-*+]|\d+\.)\s+`)
	rule      = regexp.MustCompile(`^[\s|:-]*$`)
)

// sentencesOf returns the sentences of a Markdown document, or none if the document is generated.
// It omits headings, code and comments. Table cells and list items also end a sentence.
func sentencesOf(name, text string) []passage {
	if generated.MatchString(text) {
		return nil
	}
	var (
		all  []passage
		para []string // lines of the current paragraph
		from int      // line number of the paragraph's first line
	)
	flush := func() {
		all = append(all, split(name, from, para)...)
		para = nil
	}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if fence, _, ok := doc.Fence(lines[i]); ok {
			flush()
			if i = doc.End(lines, i, fence); i < 0 {
				return all
			}
			continue
		}
		line := strings.TrimPrefix(remark.ReplaceAllString(lines[i], ""), "> ")
		switch {
		case strings.HasPrefix(line, "#"), rule.MatchString(line), len(para) == 0 && strings.HasPrefix(line, "    "):
			flush()
			continue
		case strings.HasPrefix(line, "|"):
			flush()
			for _, cell := range strings.Split(line, "|") {
				all = append(all, split(name, i+1, []string{cell})...)
			}
			continue
		case item.MatchString(line):
			flush()
			line = item.ReplaceAllString(line, "")
		}
		if len(para) == 0 {
			from = i + 1
		}
		para = append(para, line)
	}
	flush()
	return all
}

// split returns the sentences of a paragraph. from is the line number of the paragraph's first
// line.
func split(name string, from int, lines []string) []passage {
	var (
		all   []passage
		words []string
		begin int
	)
	flush := func() {
		if text := strings.Join(words, " "); prose(text) {
			all = append(all, passage{file: name, line: begin, text: text})
		}
		words = nil
	}
	for i, line := range lines {
		fields := strings.Fields(line)
		for j, word := range fields {
			if len(words) == 0 {
				begin = from + i
			}
			words = append(words, word)
			next := ""
			if j+1 < len(fields) {
				next = fields[j+1]
			} else if i+1 < len(lines) {
				next, _, _ = strings.Cut(strings.TrimSpace(lines[i+1]), " ")
			}
			if ends(word, next) {
				flush()
			}
		}
	}
	flush()
	return all
}

// ends reports whether a word ends its sentence, given the next word.
func ends(word, next string) bool {
	bare := strings.TrimRight(word, "*_)\"'`")
	if !strings.HasSuffix(bare, ".") && !strings.HasSuffix(bare, "?") && !strings.HasSuffix(bare, "!") ||
		bare == "e.g." || bare == "i.e." {
		return false
	}
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(next, "*_[(\"'`"))
	return !unicode.IsLower(first) || strings.HasPrefix(next, "`") || strings.HasPrefix(next, "[")
}

// prose reports whether a text has at least four words.
func prose(text string) bool {
	n := 0
	for _, word := range strings.Fields(text) {
		if strings.IndexFunc(word, unicode.IsLetter) >= 0 {
			n++
		}
	}
	return n >= 4
}
