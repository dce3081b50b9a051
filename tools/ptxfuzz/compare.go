package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/isa"
)

// crashed is the verdict of ptxas if ptxas itself crashed.
const crashed = "ptxas crashed"

// verdict holds the reasons for which the library and ptxas reject an instruction or a module.
type verdict struct {
	family string
	what   string
	theirs string // reason why ptxas rejects the input; "" if ptxas accepts it
	ours   string
}

type tally struct {
	valid, invalid int
	accepted       []verdict // accepted by the library, rejected by ptxas
	refused        []verdict // rejected by the library, accepted by ptxas
}

func (t *tally) add(v verdict) {
	if v.theirs == crashed {
		return
	}
	if v.theirs == "" {
		t.valid++
		if v.ours != "" {
			t.refused = append(t.refused, v)
		}
		return
	}
	t.invalid++
	if v.ours == "" {
		t.accepted = append(t.accepted, v)
	}
}

// report prints a table by family, with examples, and returns the totals.
func report(all []verdict, examples int) (accepted, refused, valid, invalid int) {
	by := map[string]*tally{}
	for _, v := range all {
		if by[v.family] == nil {
			by[v.family] = &tally{}
		}
		by[v.family].add(v)
	}
	var names []string
	for n := range by {
		names = append(names, n)
	}
	sort.Strings(names)
	fmt.Printf("%-16s %8s %8s %8s %8s\n", "family", "invalid", "accepted", "valid", "refused")
	for _, n := range names {
		t := by[n]
		fmt.Printf("%-16s %8d %8d %8d %8d\n", n, t.invalid, len(t.accepted), t.valid, len(t.refused))
		accepted, refused, valid, invalid = accepted+len(t.accepted), refused+len(t.refused), valid+t.valid, invalid+t.invalid
		for i, v := range t.accepted {
			if i < examples {
				fmt.Printf("    accepted %s -- %s\n", v.what, v.theirs)
			}
		}
		for i, v := range t.refused {
			if i < examples {
				fmt.Printf("    refused  %s -- %s\n", v.what, v.ours)
			}
		}
	}
	fmt.Printf("%-16s %8d %8d %8d %8d\n", "all", invalid, accepted, valid, refused)
	fmt.Printf("accepted though invalid: %.2f %%, refused though valid: %.2f %%\n", percent(accepted, invalid), percent(refused, valid))
	return accepted, refused, valid, invalid
}

func percent(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}

// macroLines exceeds every line number in the compiler's own macros. Errors inside a macro have
// line numbers of the macro, so line numbers above macroLines belong to the module.
const macroLines = 5000

// batch is the number of instructions per module.
const batch = 90

// instructions returns the verdicts on each instruction. It assembles all instructions in one
// kernel.
func (a *assembler) instructions(dir, version, target string, lines []string) ([]verdict, error) {
	head := ".version " + version + "\n.target " + target + "\n" + surroundings
	t, _ := ptx.ParseTarget(target)
	if 10*t.Major+t.Minor >= 53 && version >= "4.2" {
		head += halves
	}
	const tail = "L0:\n\tret;\n}\n"
	theirs, err := a.judge(dir, target, head, lines, tail)
	if err != nil {
		return nil, err
	}
	out := make([]verdict, len(lines))
	for i, line := range lines {
		out[i] = verdict{what: line, theirs: theirs[i], ours: ours(head + line + "\n" + tail)}
	}
	return out, nil
}

// For each instruction, judge returns the reason why ptxas rejects it, or "" if ptxas accepts it.
// In addition to the registers of the instructions, head must declare the registers %u1 to %u3.
func (a *assembler) judge(dir, target, head string, lines []string, tail string) ([]string, error) {
	first := macroLines + strings.Count(head, "\n") + 1
	theirs := make([]string, len(lines))
	open := make([]int, len(lines))
	for i := range lines {
		open[i] = i
	}
	// A syntax error hides the errors after it. So remove the rejected instructions and assemble
	// the rest again, until no instruction is rejected. The last instruction is always invalid, so
	// that ptxas does not compile the valid ones.
	var ask func(open []int) error
	ask = func(open []int) error {
		var b strings.Builder
		b.WriteString(strings.Repeat("\n", macroLines))
		b.WriteString(head)
		for _, i := range open {
			b.WriteString(lines[i] + "\n")
		}
		b.WriteString("add.wrong.u32 %u1, %u2, %u3;\n" + tail)
		r, err := a.assemble(dir, b.String(), a.arch(target), "-c")
		if errors.Is(err, errCrash) && len(open) == 1 {
			theirs[open[0]] = crashed
			return nil
		}
		halve := func() error {
			if err := ask(open[:len(open)/2]); err != nil {
				return err
			}
			return ask(open[len(open)/2:])
		}
		if errors.Is(err, errCrash) {
			return halve()
		} else if err != nil {
			return err
		}
		if len(r.lines) == 0 {
			return fmt.Errorf("ptxas: %s", r.rest)
		}
		var left []int
		for k, i := range open {
			if theirs[i] = r.lines[first+k]; theirs[i] == "" {
				left = append(left, i)
			}
		}
		switch {
		case len(left) < len(open):
			return ask(left)
		case r.lines[first+len(open)] != "" || len(open) == 0:
			return nil
		case len(open) == 1:
			theirs[open[0]] = r.first()
			return nil
		}
		// No error has the line number of an instruction, so the rejected instruction must be a
		// macro. Halve the batch to find it.
		return halve()
	}
	return theirs, ask(open)
}

// ours returns the library's reason for rejecting a module, or "" if it accepts the module.
func ours(text string) string {
	m, err := ptx.Parse("", []byte(text))
	if err == nil {
		err = isa.Check(m)
	}
	var one *isa.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &one):
		return one.Problem
	}
	return err.Error()
}

type textHeader struct{ version, target string }

// headers lists PTX versions, each with a target that the version supports.
var headers = []textHeader{
	{"7.8", "sm_90"}, {"7.8", "sm_80"}, {"7.8", "sm_75"}, {"7.0", "sm_80"}, {"6.4", "sm_70"}, {"6.0", "sm_60"}, {"5.0", "sm_53"},
	{"3.1", "sm_35"}, {"3.0", "sm_20"}, {"2.3", "sm_20"}, {"1.4", "sm_13"}, {"1.0", "sm_10"},
	{"8.4", "sm_90a"}, {"8.4", "sm_90"}, {"8.4", "sm_89"}, {"8.1", "sm_90"}, {"8.0", "sm_90a"}, {"9.0", "sm_90a"}, {"9.0", "sm_90"}, {"9.0", "sm_75"}, {"8.8", "sm_90a"}, {"8.6", "sm_90"},
}

// forms compares n instructions of each name for each version and target. If after is set, it uses
// only later PTX versions.
func forms(assemblers []*assembler, seed uint64, n, examples int, only, after string) error {
	dir, err := os.MkdirTemp("", "ptxfuzz")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	words := allWords()
	var jobs []*formsJob
	made := uint64(0)
	for _, h := range headers {
		a := newestFor(assemblers, h.version)
		if a == nil || after != "" && h.version <= after {
			continue
		}
		t, _ := ptx.ParseTarget(h.target)
		m := &maker{rng: rand.New(rand.NewPCG(seed, made)), words: words, halfs: 10*t.Major+t.Minor >= 53 && h.version >= "4.2"}
		var lines, families []string
		for _, name := range isa.Names() {
			if only != "" && !matches(only, name) || family(name) == "texture" {
				continue
			}
			list := isa.Forms(name)
			for i := range n {
				f := list[i%len(list)]
				in := m.make(f)
				if i/len(list)%4 != 0 || i >= len(list) && m.rng.IntN(4) > 0 {
					m.change(in, f)
				}
				lines, families = append(lines, in.String()), append(families, family(name))
			}
		}
		made += uint64(len(lines))
		for at := 0; at < len(lines); at += batch {
			end := min(at+batch, len(lines))
			jobs = append(jobs, &formsJob{a: a, version: h.version, target: h.target, lines: lines[at:end], families: families[at:end]})
		}
	}
	parallel(len(jobs), func(i int) { jobs[i].run(dir) })
	var all []verdict
	for _, j := range jobs {
		if j.err != nil {
			return fmt.Errorf("PTX %s for %s: %w", j.version, j.target, j.err)
		}
		all = append(all, j.out...)
	}
	return within(all, examples)
}

// formsJob is one batch of instructions for one version and target.
type formsJob struct {
	a               *assembler
	version, target string
	lines, families []string
	out             []verdict
	err             error
}

func (j *formsJob) run(dir string) {
	if j.out, j.err = j.a.instructions(dir, j.version, j.target, j.lines); j.err != nil {
		return
	}
	for i := range j.out {
		j.out[i].family = j.families[i]
		j.out[i].what = "[" + j.version + " " + j.target + "] " + j.out[i].what
	}
}

// parallel calls the function do with each number from 0 to n-1, on all processors.
func parallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

func matches(only, name string) bool {
	for _, o := range strings.Split(only, ",") {
		if o == name || o == family(name) {
			return true
		}
	}
	return false
}

// newestFor returns the oldest assembler that accepts the given version, or nil. Newer assemblers
// may have dropped features that the module uses.
func newestFor(list []*assembler, version string) *assembler {
	v := parseVersion(version)
	for _, a := range list {
		if a.takes(v) {
			return a
		}
	}
	return nil
}

// parseVersion parses a version such as 8.4. It returns 0.0 for any other string.
func parseVersion(s string) ptx.Version {
	major, minor, _ := strings.Cut(s, ".")
	return ptx.Version{Major: atoi(major), Minor: atoi(minor)}
}

func atoi(s string) int {
	n := 0
	fmt.Sscan(s, &n)
	return n
}
