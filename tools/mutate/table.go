//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// writeTable writes a table of the outcomes, by package and by kind. It then lists the
// changes for which no test failed.
func writeTable(w io.Writer, mutants, results, same string) error {
	head, all, err := readSample(mutants)
	if err != nil {
		return err
	}
	done, err := readResults(results)
	if err != nil {
		return err
	}
	reasons, err := readReasons(same)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Seed %d, commit %.12s: %d changes drawn from %d statements.\n\n", head.Seed, head.Commit, len(all), total(head.Statements))
	state := func(m mutant) string {
		r, ok := done[m.ID]
		switch {
		case !ok:
			return "not tried"
		case r.State != killed && reasons[m.Key] != "":
			return "equivalent"
		case r.State == unreached:
			return survived
		}
		return r.State
	}
	count(w, "package", all, func(m mutant) string { return short(m.Pkg) }, state)
	count(w, "kind", all, func(m mutant) string { return m.Kind }, state)
	for _, s := range []string{survived, timedOut, gone, "equivalent"} {
		first := true
		for _, m := range all {
			if state(m) != s {
				continue
			}
			if first {
				fmt.Fprintf(w, "\n%s:\n\n", strings.ToUpper(s[:1])+s[1:])
				first = false
			}
			fmt.Fprintf(w, "- %d: `%s:%d` %s, %s: `%s` to `%s`", m.ID, m.File, m.Line, m.Func, m.Kind, m.Code, m.To)
			if s == "equivalent" {
				fmt.Fprintf(w, ": %s", reasons[m.Key])
			}
			if done[m.ID].State == unreached {
				fmt.Fprint(w, " (no test of the package gets there)")
			}
			fmt.Fprintln(w)
		}
	}
	return nil
}

func short(path string) string {
	_, rest, ok := strings.Cut(path, "/cuda/")
	if !ok {
		return path
	}
	return rest
}

func total(by map[string]int) int {
	n := 0
	for _, v := range by {
		n += v
	}
	return n
}

var columns = []string{killed, survived, timedOut, "equivalent", gone, "not tried"}

func count(w io.Writer, title string, all []mutant, group func(mutant) string, state func(mutant) string) {
	var groups []string
	n := map[string]map[string]int{}
	for _, m := range all {
		for _, g := range []string{group(m), "all"} {
			if n[g] == nil {
				n[g] = map[string]int{}
				if g != "all" {
					groups = append(groups, g)
				}
			}
			n[g][state(m)]++
		}
	}
	slices.Sort(groups)
	fmt.Fprintf(w, "| %s | changes | %s | killed |\n|---|%s---|\n", title, strings.Join(columns, " | "), strings.Repeat("---|", len(columns)+1))
	for _, g := range append(groups, "all") {
		all, line := 0, ""
		for _, c := range columns {
			all += n[g][c]
			line += fmt.Sprintf(" %d |", n[g][c])
		}
		counted := all - n[g][gone] - n[g]["not tried"]
		rate := "-"
		if counted > 0 {
			rate = fmt.Sprintf("%.1f %%", 100*float64(n[g][killed])/float64(counted))
		}
		fmt.Fprintf(w, "| %s | %d |%s %s |\n", g, all, line, rate)
	}
	fmt.Fprintln(w)
}

// readReasons reads a file with the reasons why changes are equivalent to the original code. Each
// line has a change's key, a tab and the reason.
func readReasons(file string) (map[string]string, error) {
	all := map[string]string{}
	if file == "" {
		return all, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		key, reason, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s: %q is not a key, a tab and a reason", file, line)
		}
		all[key] = reason
	}
	return all, nil
}
