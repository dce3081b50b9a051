package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/purecuda/cuda/tools/internal/doc"
)

const quote = "<!-- quoted:"

// quoted checks what a document repeats from another document, such as figures:
//
//	<!-- quoted: docs/results/h200-driver-580.md -->
//
// The table or code block after that line may omit lines and columns of the source and change their
// order. Everything that it contains must also be in the source. For each row of a table, a table
// in the source must have all column heads of the quoting table and a row that has the same cells
// below these heads. The lines of a code block must be in the source unchanged.
func quoted(root, name, text string) []error {
	var errs []error
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		s, ok := strings.CutPrefix(strings.TrimSpace(line), quote)
		if !ok {
			continue
		}
		from := strings.TrimSpace(strings.TrimSuffix(s, closing))
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(from)))
		if err == nil {
			err = standsIn(from, lines[i+1:], strings.Split(string(source), "\n"))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", name, i+1, err))
		}
	}
	return errs
}

// standsIn checks the table or code block at the beginning of lines against the source.
func standsIn(from string, lines, source []string) error {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	if len(lines) > 0 {
		if fence, _, ok := doc.Fence(lines[0]); ok {
			return blockStandsIn(from, lines, fence, source)
		}
		if t, _ := tableOf(lines); t != nil {
			return t.standsIn(from, tablesOf(source))
		}
	}
	return errors.New("no table and no block of code follows")
}

func blockStandsIn(from string, lines []string, fence string, source []string) error {
	end := doc.End(lines, 0, fence)
	if end < 2 {
		return errors.New("the block of code that follows has no line, or no end")
	}
	var errs []error
	for _, line := range lines[1:end] {
		if !slices.Contains(source, line) {
			errs = append(errs, fmt.Errorf("%s does not say %q", from, line))
		}
	}
	return errors.Join(errs...)
}

type table struct {
	head []string
	rows [][]string
}

// tableOf parses the table at the beginning of lines and returns its number of lines. A
// table has a separator line below its head, and at least one row.
func tableOf(lines []string) (t *table, n int) {
	for n < len(lines) && strings.HasPrefix(lines[n], "|") {
		n++
	}
	if n < 3 || strings.Trim(lines[1], "|:- ") != "" {
		return nil, n
	}
	t = &table{head: cellsOf(lines[0])}
	for _, line := range lines[2:n] {
		t.rows = append(t.rows, cellsOf(line))
	}
	return t, n
}

func tablesOf(lines []string) []*table {
	var all []*table
	for len(lines) > 0 {
		t, n := tableOf(lines)
		if t != nil {
			all = append(all, t)
		}
		lines = lines[max(n, 1):]
	}
	return all
}

// standsIn returns an error for each row of t that none of the tables contains. It considers only
// tables that have all column heads of t.
func (t *table) standsIn(from string, tables []*table) error {
	var heads []map[string]int
	var with []*table
	for _, other := range tables {
		if at := other.columns(); t.among(at) {
			heads, with = append(heads, at), append(with, other)
		}
	}
	if len(with) == 0 {
		return fmt.Errorf("%s has no table with the heads %q", from, t.head)
	}
	var errs []error
	for _, row := range t.rows {
		there := false
		for i, other := range with {
			there = there || other.has(row, t.head, heads[i])
		}
		if !there {
			errs = append(errs, fmt.Errorf("%s does not say %q below %q", from, row, t.head))
		}
	}
	return errors.Join(errs...)
}

// columns maps each column head to its index, or to -1 if the head occurs twice and therefore
// cannot be quoted.
func (t *table) columns() map[string]int {
	at := make(map[string]int)
	for i, h := range t.head {
		if _, twice := at[h]; twice {
			i = -1
		}
		at[h] = i
	}
	return at
}

// among reports whether each column head of t occurs exactly once in t and exactly once in the
// other table. at is the result of columns for the other table.
func (t *table) among(at map[string]int) bool {
	for i, h := range t.head {
		if column, ok := at[h]; !ok || column < 0 || slices.Contains(t.head[:i], h) {
			return false
		}
	}
	return true
}

// has reports whether the table has a row with the given cells below the given heads.
func (t *table) has(cells, heads []string, at map[string]int) bool {
	return len(cells) == len(heads) && slices.ContainsFunc(t.rows, func(row []string) bool {
		for i, c := range cells {
			if column := at[heads[i]]; column >= len(row) || row[column] != c {
				return false
			}
		}
		return true
	})
}

func cellsOf(row string) []string {
	row = strings.TrimSpace(row)
	cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|"), "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(c)
	}
	return cells
}
