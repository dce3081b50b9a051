// Command rundoc writes the table of GPU runs in docs/platforms.md. Its source is the output in
// docs/results. In these documents, a line
//
//	<!-- run: tests; 3adcf42, 2026-11-22; two H200, driver 580 -->
//
// means that the next code block or table is the output of that part of bundle/run.sh, at that
// commit and on that machine. The command derives the verdict from the output. For each part and
// machine, the table shows the latest run and, if that run failed, also the latest run that passed.
//
//	go run -C tools ./rundoc -root ..
//
// With -check it writes nothing and fails if the table would change.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/purecuda/cuda/tools/internal/doc"
)

const (
	output = "docs/platforms.md"
	begin  = "<!-- runs: generated from docs/results by tools/rundoc -->\n"
	end    = "<!-- end of runs -->"
)

func main() { doc.Main("rundoc", run) }

func run(root string, check bool) error {
	files, err := filepath.Glob(filepath.Join(root, "docs", "results", "*.md"))
	if err != nil {
		return err
	}
	var runs []*result
	var errs []error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		found, err := results(filepath.Base(file), string(text))
		runs, errs = append(runs, found...), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	path := filepath.Join(root, output)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the table: %s...%s", output, begin, end)
	}
	return doc.Write(path, []byte(head+begin+table(runs)+end+tail), check, "make docs")
}
