package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/purecuda/cuda/tools/internal/doc"
)

type result struct {
	file, part, commit, date, machine string
	counts
}

type counts struct {
	passed, failed, notRun int // numbers of lines of bundle/run.sh, or of rows with a budget
	tests, skipped         int // numbers of tests in all of these lines
	failures               []string
}

func (c counts) verdicts() int { return c.passed + c.failed + c.notRun }

var (
	marked  = regexp.MustCompile(`^<!-- run: ([^;]+); (\S+), (\d{4}-\d\d-\d\d); ([^;]+) -->$`)
	counted = regexp.MustCompile(`: (\d+) passed, (\d+) skipped`)
	program = regexp.MustCompile(`^\$ (first|\d\d-\S+)`)
)

// results returns the runs in a document.
func results(file, text string) ([]*result, error) {
	var runs []*result
	var errs []error
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "<!-- run:") {
			continue
		}
		m := marked.FindStringSubmatch(line)
		if m == nil {
			errs = append(errs, fmt.Errorf("%s:%d: write <!-- run: part; commit, yyyy-mm-dd; machine -->", file, i+1))
			continue
		}
		r := &result{file: file, part: m[1], commit: m[2], date: m[3], machine: m[4]}
		r.count(printed(lines[i+1:]))
		if r.verdicts() == 0 {
			errs = append(errs, fmt.Errorf("%s:%d: what follows has no verdict", file, i+1))
		}
		runs = append(runs, r)
	}
	return runs, errors.Join(errs...)
}

// printed returns the lines of the next code block or table.
func printed(lines []string) []string {
	for i, line := range lines {
		if strings.HasPrefix(line, "<!--") { // the line belongs to another run, or is a comment
			return nil
		}
		if fence, _, ok := doc.Fence(line); ok {
			return lines[i+1 : max(doc.End(lines, i, fence), i+1)]
		}
		if strings.HasPrefix(line, "|") {
			n := slices.IndexFunc(lines[i:], func(l string) bool { return !strings.HasPrefix(l, "|") })
			if n < 0 {
				return lines[i:]
			}
			return lines[i : i+n]
		}
	}
	return nil
}

func (r *result) count(lines []string) {
	kept := -1 // index of the column with the verdict in a budget table
	running, lacks := "", false
	ended := func() { // an example that printed its output has passed, because it checks its results first
		switch {
		case running == "":
		case lacks:
			r.notRun++
		default:
			r.passed++
		}
		running, lacks = "", false
	}
	for _, line := range lines {
		switch cells := strings.Split(line, "|"); {
		case strings.HasPrefix(line, "PASS "), line == "soak: PASS":
			r.passed++
			r.testsOf(line)
		case strings.HasPrefix(line, "FAIL "), line == "soak: FAIL":
			r.failed++
			r.failures = append(r.failures, strings.TrimPrefix(line, "FAIL "))
			r.testsOf(line)
		case strings.HasPrefix(line, "NOT RUN "):
			r.notRun++
		case program.MatchString(line):
			ended()
			running = line
		case running != "":
			lacks = lacks || strings.HasPrefix(line, "There is nothing to ")
		case len(cells) < 3:
		case kept < 0:
			kept = slices.IndexFunc(cells, func(c string) bool { return strings.TrimSpace(c) == "kept" })
		case kept >= len(cells):
		case strings.HasPrefix(strings.TrimSpace(cells[kept]), "NO"):
			r.failed++
			r.failures = append(r.failures, strings.TrimSpace(cells[1]))
		case strings.TrimSpace(cells[kept]) == "yes":
			r.passed++
		}
	}
	ended()
}

func (r *result) testsOf(line string) {
	if m := counted.FindStringSubmatch(line); m != nil {
		passed, _ := strconv.Atoi(m[1])
		skipped, _ := strconv.Atoi(m[2])
		r.tests, r.skipped = r.tests+passed, r.skipped+skipped
	}
}

func (r *result) outcome() string {
	s := fmt.Sprintf("%d of %d passed", r.passed, r.verdicts())
	if r.tests > 0 {
		s += fmt.Sprintf(" (%d tests, %d skipped)", r.tests, r.skipped)
	}
	if r.failed > 0 {
		s += fmt.Sprintf(", **%d failed**", r.failed)
		if r.failed <= 2 {
			s += ": " + strings.Join(r.failures, "; ")
		}
	}
	if r.notRun > 0 {
		s += fmt.Sprintf(", %d not run", r.notRun)
	}
	return s
}

// table formats the latest run of each part on each machine. If that run failed, it also formats
// the latest run that passed.
func table(runs []*result) string {
	var order []string
	latest := map[string][]*result{}
	for _, r := range runs {
		key := r.part + ";" + r.machine
		if latest[key] == nil {
			order = append(order, key)
		}
		latest[key] = append(latest[key], r)
	}
	var b strings.Builder
	b.WriteString("| part | on | at | outcome |\n|---|---|---|---|\n")
	for _, key := range order {
		list := latest[key]
		slices.SortStableFunc(list, func(a, b *result) int { return cmp.Compare(b.date, a.date) })
		shown := list[:1]
		if list[0].failed > 0 {
			if i := slices.IndexFunc(list, func(r *result) bool { return r.failed == 0 }); i > 0 {
				shown = []*result{list[0], list[i]}
			}
		}
		for _, r := range shown {
			fmt.Fprintf(&b, "| %s | %s | %s, %s | [%s](results/%s) |\n", r.part, r.machine, r.commit, r.date, r.outcome(), r.file)
		}
	}
	return b.String()
}
