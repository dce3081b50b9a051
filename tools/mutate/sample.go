//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

type mutant struct {
	ID   int
	Pkg  string
	Key  string
	Kind string
	File string
	Line int
	Func string
	Code string
	To   string
}

// header is the first line of a sample.
type header struct {
	Seed       uint64
	Commit     string
	Statements map[string]int // number of statements that can be changed, by package
	Rejected   int            // number of drawn changes that do not compile
}

// drawSample chooses n changes and writes them to a file. It divides n among the packages in
// proportion to their statements, and draws the statements of a package with equal probability. For
// each statement it draws a kind of change, and then a change of that kind. It draws again for
// changes that do not compile.
func drawSample(root string, patterns []string, seed uint64, n int, file string) error {
	if _, err := os.Stat(file); err == nil {
		return fmt.Errorf("%s exists: a sample is drawn once", file)
	}
	pkgs, err := load(root, patterns)
	if err != nil {
		return err
	}
	head := header{Seed: seed, Statements: map[string]int{}}
	if out, err := exec.Command("git", "-C", root, "rev-parse", "HEAD").Output(); err == nil {
		head.Commit = strings.TrimSpace(string(out))
	}
	counts := make([]int, len(pkgs))
	lists := make([][]*statement, len(pkgs))
	for i, p := range pkgs {
		lists[i] = p.statements()
		counts[i] = len(lists[i])
		head.Statements[p.path] = counts[i]
	}
	shares := proportional(counts, n)
	var all []mutant
	for i, p := range pkgs {
		// Each package has its own random sequence, so that growth of one package does not affect
		// the changes drawn from other packages.
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		sites, rejected, err := p.draw(lists[i], shares[i], random)
		if err != nil {
			return err
		}
		head.Rejected += rejected
		slices.SortStableFunc(sites, func(a, b *site) int { return strings.Compare(a.File, b.File) })
		for _, s := range sites {
			all = append(all, mutantOf(len(all)+1, p, s))
		}
	}
	fmt.Printf("%d changes of %d statements, %d drawn that do not compile\n", len(all), sum(counts), head.Rejected)
	return writeSample(file, head, all)
}

// listLines writes all changes of the given lines as a sample. Use it to check whether a new
// test detects the errors that it was written for.
func listLines(root string, patterns, lines []string, file string) error {
	pkgs, err := load(root, patterns)
	if err != nil {
		return err
	}
	var all []mutant
	for _, p := range pkgs {
		var sites []*site
		for _, st := range p.statements() {
			for _, s := range st.sites {
				if slices.Contains(lines, s.File+":"+strconv.Itoa(s.Line)) {
					sites = append(sites, s)
				}
			}
		}
		bad, err := p.wrong(sites)
		if err != nil {
			return err
		}
		for _, s := range sites {
			if !slices.Contains(bad, s) {
				all = append(all, mutantOf(len(all)+1, p, s))
			}
		}
	}
	return writeSample(file, header{Statements: map[string]int{}}, all)
}

func mutantOf(id int, p *pkg, s *site) mutant {
	return mutant{ID: id, Pkg: p.path, Key: s.Key, Kind: s.Kind, File: s.File, Line: s.Line, Func: s.Func, Code: s.Code, To: s.To}
}

func writeSample(file string, head header, all []mutant) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(head); err != nil {
		return err
	}
	for _, m := range all {
		if err := enc.Encode(m); err != nil {
			return err
		}
	}
	return out.Close()
}

func sum(list []int) int {
	n := 0
	for _, v := range list {
		n += v
	}
	return n
}

// proportional divides n in proportion to the sizes, by the method of largest remainders.
func proportional(sizes []int, n int) []int {
	total := sum(sizes)
	shares := make([]int, len(sizes))
	if total == 0 {
		return shares
	}
	order := make([]int, len(sizes))
	rest := n
	for i, s := range sizes {
		shares[i] = n * s / total
		rest -= shares[i]
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return n*sizes[b]%total - n*sizes[a]%total })
	for _, i := range order[:rest] {
		shares[i]++
	}
	return shares
}

// draw chooses n changes of a package that compile when all are made together. It also returns the
// number of rejected changes.
func (p *pkg) draw(list []*statement, n int, random *rand.Rand) (chosen []*site, rejected int, err error) {
	order := random.Perm(len(list))
	next := func() *site {
		if len(order) == 0 {
			return nil
		}
		st := list[order[0]]
		order = order[1:]
		var kinds []string
		for _, s := range st.sites {
			if !slices.Contains(kinds, s.Kind) {
				kinds = append(kinds, s.Kind)
			}
		}
		kind := kinds[random.IntN(len(kinds))]
		var of []*site
		for _, s := range st.sites {
			if s.Kind == kind {
				of = append(of, s)
			}
		}
		return of[random.IntN(len(of))]
	}
	for {
		for len(chosen) < n {
			s := next()
			if s == nil {
				return nil, 0, fmt.Errorf("%s has no %d changes that compile", p.path, n)
			}
			chosen = append(chosen, s)
		}
		bad, err := p.wrong(chosen)
		if err != nil {
			return nil, 0, err
		}
		if len(bad) == 0 {
			return chosen, rejected, nil
		}
		rejected += len(bad)
		chosen = slices.DeleteFunc(chosen, func(s *site) bool { return slices.Contains(bad, s) })
	}
}

func readSample(file string) (header, []mutant, error) {
	var head header
	f, err := os.Open(file)
	if err != nil {
		return head, nil, err
	}
	defer f.Close()
	dec := json.NewDecoder(bufio.NewReader(f))
	if err := dec.Decode(&head); err != nil {
		return head, nil, fmt.Errorf("%s: %w", file, err)
	}
	var all []mutant
	for dec.More() {
		var m mutant
		if err := dec.Decode(&m); err != nil {
			return head, nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, m)
	}
	return head, all, nil
}

// result is the outcome of a change. If a file has several results for a change, the last
// one counts.
type result struct {
	ID    int
	State string
	By    string  `json:",omitempty"` // name of the test that failed
	Why   string  `json:",omitempty"` // first line of its output
	Tests int     // number of tests that were run with the change
	Secs  float64 // time in seconds that the tests took
}

// The outcomes of a change.
const (
	killed    = "killed"
	survived  = "survived"
	timedOut  = "timeout"
	unreached = "unreached" // none of the tests that are run for its package reaches the change
	gone      = "gone"      // the function's code has changed since the sample was drawn
)

func readResults(file string) (map[int]result, error) {
	all := map[int]result{}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for dec := json.NewDecoder(bufio.NewReader(f)); dec.More(); {
		var r result
		if err := dec.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all[r.ID] = r
	}
	return all, nil
}
