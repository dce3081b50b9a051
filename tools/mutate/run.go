//go:build unix

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

type runner struct {
	root, work       string
	mutants, results string
	retry, only      []string
	with             []string
	short            bool
	patience         time.Duration // additional time for tests, in case the machine is busy
	deadline         time.Time

	module   string
	pkgs     []*pkg
	changes  map[*pkg][]numbered
	overlays [2]string // one overlay with the changes, and one that also traces
	tested   map[string]*testPackage
	out      *os.File
}

func (r *runner) run() error {
	_, all, err := readSample(r.mutants)
	if err != nil {
		return err
	}
	done, err := readResults(r.results)
	if err != nil {
		return err
	}
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if r.work == "" {
		if r.work, err = os.MkdirTemp("", "mutate"); err != nil {
			return err
		}
		defer os.RemoveAll(r.work)
	}
	if r.work, err = filepath.Abs(r.work); err != nil {
		return err
	}
	if r.out, err = os.OpenFile(r.results, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666); err != nil {
		return err
	}
	defer r.out.Close()
	if err := r.prepare(all, done); err != nil {
		return err
	}
	r.tested = map[string]*testPackage{}
	for _, m := range all {
		if !r.deadline.IsZero() && time.Now().After(r.deadline) {
			fmt.Println("the time is up; the next run goes on here")
			return nil
		}
		if !r.wanted(m, done) {
			continue
		}
		before, known := done[m.ID]
		packages := r.with
		if len(packages) == 0 {
			packages, known = r.testsOf(m.Pkg), false
		}
		res, err := r.try(m, packages)
		if err != nil {
			return err
		}
		if known && res.State != killed && res.State != timedOut {
			res.State = before.State // only some tests ran, so a change that they do not kill keeps its state
			if before.State == unreached && res.Tests != 0 {
				res.State = survived
			}
		}
		done[m.ID] = res
		if err := r.note(m, res); err != nil {
			return err
		}
	}
	return nil
}

// wanted reports whether this run must try a change.
func (r *runner) wanted(m mutant, done map[int]result) bool {
	if len(r.only) != 0 {
		return slices.Contains(r.only, strconv.Itoa(m.ID))
	}
	res, ok := done[m.ID]
	return !ok || slices.Contains(r.retry, res.State)
}

func (r *runner) note(m mutant, res result) error {
	fmt.Printf("%4d %-9s %5.1fs %3d tests  %s:%d %s: %s  [%s] -> [%s]  %s %s\n", m.ID, res.State, res.Secs, res.Tests, m.File, m.Line, m.Func, m.Kind, m.Code, m.To, res.By, res.Why)
	line, err := json.Marshal(res)
	if err != nil {
		return err
	}
	_, err = r.out.Write(append(line, '\n'))
	return err
}

// prepare finds the sample's changes in the current code and writes the overlays.
func (r *runner) prepare(all []mutant, done map[int]result) error {
	var paths []string
	for _, m := range all {
		if !slices.Contains(paths, m.Pkg) {
			paths = append(paths, m.Pkg)
		}
	}
	pkgs, err := load(r.root, paths)
	if err != nil {
		return err
	}
	mods, err := moduleOf(r.root)
	if err != nil {
		return err
	}
	r.module, r.pkgs, r.changes = mods, pkgs, map[*pkg][]numbered{}
	for _, p := range pkgs {
		at := map[string]*site{}
		for _, st := range p.statements() {
			for _, s := range st.sites {
				at[s.Key] = s
			}
		}
		for _, m := range all {
			if m.Pkg != p.path {
				continue
			}
			s := at[m.Key]
			if s == nil {
				if _, ok := done[m.ID]; !ok {
					if err := r.note(m, result{ID: m.ID, State: gone}); err != nil {
						return err
					}
					done[m.ID] = result{ID: m.ID, State: gone}
				}
				continue
			}
			r.changes[p] = append(r.changes[p], numbered{s, m.ID})
		}
	}
	for i, name := range []string{"run", "trace"} {
		if r.overlays[i], err = overlay(r.root, filepath.Join(r.work, name), r.module, pkgs, r.changes, i == 1); err != nil {
			return err
		}
	}
	return nil
}

// testsOf returns the packages whose tests are run for a change in a package. The package itself
// comes first, followed by the other folders that contain tests of it.
func (r *runner) testsOf(path string) []string {
	list := []string{path}
	for _, folder := range apart[strings.TrimPrefix(path, r.module+"/")] {
		list = append(list, r.module+"/"+folder)
	}
	return list
}

// slower is the factor by which a change may make the tests take longer than usual.
const slower = 6

// try runs the tests that reach a change. It runs short tests that reach few other changes first.
func (r *runner) try(m mutant, packages []string) (result, error) {
	res := result{ID: m.ID, State: unreached}
	begun := time.Now()
	for _, path := range packages {
		tp, err := r.tests(path)
		if err != nil {
			return res, err
		}
		var reach []*test
		for _, t := range tp.tests {
			if !t.Unreliable && slices.Contains(t.Hits, m.ID) {
				reach = append(reach, t)
			}
		}
		slices.SortStableFunc(reach, func(a, b *test) int { return cmp.Compare(a.cost(), b.cost()) })
		for len(reach) != 0 {
			batch := batchOf(reach, res.Tests)
			outcome, err := tp.exec(batch, m.ID)
			if err != nil {
				return res, err
			}
			if !outcome.failed {
				res.Tests += len(batch)
				res.State = survived
				reach = reach[len(batch):]
				continue
			}
			if outcome.timeout {
				res.State, res.By, res.Tests = timedOut, names(batch), res.Tests+len(batch)
				res.Secs = time.Since(begun).Seconds()
				return res, nil
			}
			// Only if the test passes without the change did the change cause the failure.
			guilty := batch
			if t := find(batch, outcome.test); t != nil {
				guilty = []*test{t}
			}
			again, err := tp.exec(guilty, 0)
			if err != nil {
				return res, err
			}
			if !again.failed {
				res.State, res.By, res.Why, res.Tests = killed, cmp.Or(outcome.test, names(guilty)), outcome.why, res.Tests+len(batch)
				res.Secs = time.Since(begun).Seconds()
				return res, nil
			}
			fmt.Printf("%s fails without any change, and is left out: %s\n", names(guilty), again.why)
			for _, t := range guilty {
				t.Unreliable = true
			}
			reach = slices.DeleteFunc(reach, func(t *test) bool { return t.Unreliable })
		}
	}
	res.Secs = time.Since(begun).Seconds()
	return res, nil
}

// batchOf returns the tests for the next process, at most 100. The first batch is short, because
// most changes make one of its tests fail.
func batchOf(reach []*test, before int) []*test {
	limit := 0.5
	if before > 0 {
		limit = 4
	}
	total := 0.0
	for i, t := range reach {
		if total += t.Secs; i > 0 && total > limit || i == 100 {
			return reach[:i]
		}
	}
	return reach
}

func find(list []*test, name string) *test {
	for _, t := range list {
		if t.Name == name {
			return t
		}
	}
	return nil
}

func names(list []*test) string {
	if len(list) == 1 {
		return list[0].Name
	}
	return fmt.Sprintf("one of %d tests from %s on", len(list), list[0].Name)
}

// cost returns a sort key that is low for tests that reach few changes and take little time.
func (t *test) cost() float64 { return (t.Secs + 0.02) * math.Sqrt(float64(len(t.Hits))) }

func moduleOf(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", errors.New("go.mod names no module")
}
