package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/purecuda/cuda/internal/ptxtest"
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/isa"
)

// base is a module that ptxas accepts. It has one kernel with instructions of a family.
type base struct {
	name, text, target string
	places             []int // indices of the instructions that belong to the family
}

// maxBase limits the number of instructions in a base, because ptxas compiles every mutant.
const maxBase = 250

// bases returns the project's kernels as separate modules, grouped by the families of their
// instructions. If raise is set, older modules get that .version.
func bases(root string, newest ptx.Version, raise string) (map[string][]base, error) {
	out := map[string][]base{}
	add := func(name, text string) {
		m, err := ptx.Parse(name, []byte(text))
		if err != nil {
			return
		}
		if v := parseVersion(raise); !m.Version.AtLeast(v.Major, v.Minor) {
			m.Version = v
			text = m.String()
		}
		if isa.Check(m) != nil { // the module needs a newer assembler, or became invalid when its version was raised
			return
		}
		places := map[string][]int{}
		n := 0
		instructions(m, func(in *ptx.Instr) {
			places[family(in.Op.Name)] = append(places[family(in.Op.Name)], n)
			n++
		})
		if n > maxBase {
			return
		}
		for f, list := range places {
			out[f] = append(out[f], base{name, text, targetOf(text), list})
		}
		out["declaration"] = append(out["declaration"], base{name, text, targetOf(text), []int{0}})
	}
	files, err := filepath.Glob(filepath.Join(root, "*/*/*/*.ptx"))
	if err != nil {
		return nil, err
	}
	more, err := filepath.Glob(filepath.Join(root, "*/*/*/*/*/*.ptx"))
	if err != nil {
		return nil, err
	}
	files = append(files, more...)
	sort.Strings(files)
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := ptx.Parse(file, src)
		if err != nil { // the file is a template, not PTX
			continue
		}
		for _, one := range single(m) {
			add(file, one)
		}
	}
	for _, p := range ptxtest.Instructions() {
		if p.Version == "9.0" && !newest.AtLeast(9, 0) {
			p.Version = newest.String()
		}
		if forms := p.Forms(); family(strings.SplitN(p.Text, ".", 2)[0]) != "texture" {
			for _, i := range []int{0, len(forms) / 2, len(forms) - 1} {
				add(fmt.Sprintf("form %d", p.Line), p.Module(forms[i]))
			}
		}
	}
	return out, nil
}

// single splits a module into one module per kernel, each with all other declarations of the
// module.
func single(m *ptx.Module) []string {
	var out []string
	for _, d := range m.Decls {
		f, ok := d.(*ptx.Function)
		if !ok || !f.Entry || f.Body == nil {
			continue
		}
		one := *m
		one.Decls = slices.DeleteFunc(slices.Clone(m.Decls), func(d ptx.Decl) bool {
			g, ok := d.(*ptx.Function)
			return ok && g.Entry && g != f
		})
		out = append(out, one.String())
	}
	return out
}

func instructions(m *ptx.Module, visit func(*ptx.Instr)) {
	var block func(b *ptx.Block)
	block = func(b *ptx.Block) {
		for _, s := range b.Stmts {
			switch s := s.(type) {
			case *ptx.Instr:
				visit(s)
			case *ptx.Block:
				block(s)
			}
		}
	}
	for _, d := range m.Decls {
		if f, ok := d.(*ptx.Function); ok && f.Body != nil {
			block(f.Body)
		}
	}
}

type mutant struct {
	family, what, text, target string
}

// mutants returns up to n mutants of each selected family except textures. Each mutant parses and
// differs from its base.
func mutants(root string, newest ptx.Version, seed uint64, n int, only, raise string) ([]mutant, error) {
	all, err := bases(root, newest, raise)
	if err != nil {
		return nil, err
	}
	var names []string
	for f := range all {
		if f != "texture" && (only == "" || matches(only, f)) {
			names = append(names, f)
		}
	}
	sort.Strings(names)
	words := allWords()
	var out []mutant
	for k, f := range names {
		rng := rand.New(rand.NewPCG(seed, uint64(k)))
		seen := map[string]bool{}
		for made, tries := 0, 0; made < n && tries < 20*n; tries++ {
			b := pick(rng, all[f])
			m, err := ptx.Parse(b.name, []byte(b.text))
			if err != nil {
				return nil, err
			}
			mu := &mutator{rng: rng, words: words, m: m}
			what := ""
			if f == "declaration" {
				what = mu.declaration()
			} else {
				what = mu.instruction(pick(rng, b.places))
			}
			text := m.String()
			if what == "" || text == b.text || seen[what] {
				continue
			}
			if _, err := ptx.Parse("", []byte(text)); err != nil {
				continue
			}
			seen[what] = true
			made++
			out = append(out, mutant{f, what + " [" + b.name + "]", text, targetOf(text)})
		}
	}
	return out, nil
}

// compareMutants loads and assembles all mutants, on all processors.
func compareMutants(assemblers []*assembler, root string, seed uint64, n, examples int, only, raise string) error {
	list, err := mutants(root, assemblers[len(assemblers)-1].newest, seed, n, only, raise)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ptxfuzz")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	out := make([]verdict, len(list))
	errs := make([]error, len(list))
	unsupported := make([]bool, len(list))
	jobs := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			gpu, err := newMachine()
			for i := range jobs {
				if errs[i] = err; err != nil {
					continue
				}
				out[i], unsupported[i], errs[i] = one(assemblers, gpu, dir, list[i])
			}
			if err == nil {
				err = gpu.close()
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "ptxfuzz:", err)
			}
		}()
	}
	for i := range list {
		jobs <- i
	}
	close(jobs)
	wg.Wait()
	lacks := 0
	for i := range list {
		if errs[i] != nil {
			return errs[i]
		}
		if unsupported[i] && out[i].theirs == "" {
			lacks++
		}
	}
	fmt.Printf("%d mutants; %d valid ones ask for what the emulator has not, which it says (CUDA_ERROR_NOT_SUPPORTED)\n", len(list), lacks)
	return within(out, examples)
}

// one compares the verdicts of the library and of ptxas on a mutant.
func one(assemblers []*assembler, gpu *machine, dir string, m mutant) (verdict, bool, error) {
	v := verdict{family: m.family, what: m.what, theirs: crashed}
	a := newestFor(assemblers, header(m.text, ".version"))
	if a == nil {
		return v, false, nil
	}
	r, err := a.assemble(dir, m.text, a.arch(m.target), "-O0")
	if err == nil && !r.ok && strings.Contains(r.first(), "too much shared") {
		// The limit of shared memory depends on the assembler and on the GPU. Use the newest
		// assembler, for the emulator's architecture.
		r, err = assemblers[len(assemblers)-1].assemble(dir, m.text, emulated, "-O0")
	}
	switch {
	case err == errCrash:
		return v, false, nil
	case err != nil:
		return v, false, err
	case r.ok:
		v.theirs = ""
	default:
		if v.theirs = r.first(); v.theirs == "" {
			v.theirs = "refused"
		}
		if strings.Contains(v.theirs, "Unresolved extern") || strings.Contains(v.theirs, "too much") && !strings.Contains(v.theirs, "shared") {
			v.theirs = crashed // limits of a GPU and symbols that are linked later are not errors in the module
			return v, false, nil
		}
	}
	why, unsupported := gpu.load(m.text)
	if v.ours = why; unsupported {
		v.ours = ours(m.text) // use the verdict of the rules if the emulator lacks a feature
		if v.theirs != "" && v.ours == "" {
			v.ours = why
		}
	}
	return v, unsupported, nil
}

// within prints a report. It returns an error if the library accepts more than 1 % of the invalid
// modules or rejects more than 1 % of the valid modules.
func within(all []verdict, examples int) error {
	accepted, refused, valid, invalid := report(all, examples)
	if 100*accepted > invalid || 100*refused > valid {
		return fmt.Errorf("more than 1 %% is accepted though invalid, or refused though valid")
	}
	return nil
}
