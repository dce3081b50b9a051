package difftest

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/lower"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/opt"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/verify/randgo"
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// notRandom lists the operations that do not occur in random kernels, with the reasons.
var notRandom = map[ir.Op]string{
	ir.OpUndef: "only variables that no path reads have it; opt's TestRandom covers it",
}

// notRandomPass lists the passes that change no random kernel, with the reasons.
var notRandomPass = map[string]string{
	"versions": "a random kernel has too much code beside its vector accesses; opt's TestVersions covers it",
}

// rarePass lists the passes that change less than a fifth of the random kernels, with the share of the
// kernels that they change at least. Masks of phis are left only where an array has become variables, and
// opt's TestMasksOfPhis covers them as well.
var rarePass = map[string]float64{"masks": 0.04}

// library returns the source of a package that random kernels import.
func library(path string) (source.Sources, error) {
	const root = "github.com/purecuda/cuda/"
	s := source.Sources{Path: path}
	files, ok := map[string]*embed.FS{root + "ptx/gpu": &gpu.Source, root + "ptx/num": &num.Source}[path]
	if !ok {
		return s, fmt.Errorf("random kernels import no package %s", path)
	}
	names, err := fs.Glob(files, "*.go")
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return s, err
		}
		s.Files = append(s.Files, source.File{Name: strings.TrimPrefix(path, root) + "/" + name, Data: data})
	}
	return s, err
}

// lowered returns random kernels in the intermediate representation.
func lowered(t *testing.T, first, end uint64, o lower.Options) *ir.Module {
	t.Helper()
	var kernels []*randgo.Kernel
	for i := first; i < end; i++ {
		kernels = append(kernels, randgo.New(fmt.Sprintf("k%d", i), i))
	}
	file := source.File{Name: "kernels.go", Data: []byte(randgo.File("random", kernels))}
	p, err := source.Load(source.Config{Main: source.Sources{Path: "random", GoVersion: "1.25", Files: []source.File{file}}, Resolve: library})
	if err != nil {
		t.Fatal(err)
	}
	m, errs := lower.Lower(p, o)
	for _, err := range errs {
		t.Error(err)
	}
	return m
}

// variants lists the attributes of operations that must occur in the random kernels.
func variants() []string {
	var all []string
	for op := ir.RMWAdd; op <= ir.RMWStore; op++ {
		all = append(all, fmt.Sprint("atomic operation ", op))
	}
	for _, s := range []ir.Scope{ir.ScopeDevice, ir.ScopeBlock, ir.ScopeSystem} { // without ScopeCluster, which requires a target
		all = append(all, fmt.Sprint("atomic scope ", s))
	}
	for o := ir.Relaxed; o <= ir.AcqRel; o++ {
		all = append(all, fmt.Sprint("atomic order ", o))
	}
	for c := ir.Eq; c <= ir.FGe; c++ {
		all = append(all, "compare "+c.String())
	}
	for r := ir.RN; r <= ir.RP; r++ {
		for _, op := range []ir.Op{ir.OpFAdd, ir.OpFSub, ir.OpFMul, ir.OpFDiv, ir.OpFMA, ir.OpFSqrt, ir.OpFInt} {
			all = append(all, op.String()+" "+r.String())
		}
	}
	for m := ir.MBool; m <= ir.MPtr; m++ {
		all = append(all, "load "+m.String(), "store "+m.String())
	}
	for s := ir.Generic; s <= ir.Const; s++ {
		all = append(all, "load "+s.String())
		if s != ir.Const {
			all = append(all, "store "+s.String())
		}
	}
	for _, kind := range []string{"index", "slice", "nil", "divide", "shift", "convert", "assert", "panic", "align"} {
		all = append(all, "check "+kind)
	}
	for _, text := range []string{"bar.sync", "bar.arrive", "bar.red.and.pred", "bar.red.or.pred", "bar.red.popc.u32", "bar.warp.sync", "shfl.sync.bfly.b32",
		"shfl.sync.up.b32", "shfl.sync.down.b32", "shfl.sync.idx.b32", "vote.sync.all.pred", "vote.sync.any.pred", "vote.sync.ballot.b32", "match.any.sync.b32",
		"match.any.sync.b64", "match.all.sync.b32", "match.all.sync.b64", "cp.async.ca.shared.global"} {
		all = append(all, "PTX "+text)
	}
	return all
}

// variant returns the names of an operation's attributes.
func variant(v *ir.Value) []string {
	switch v.Op {
	case ir.OpAtomic:
		return []string{fmt.Sprint("atomic operation ", v.Atomic.Op), fmt.Sprint("atomic scope ", v.Atomic.Scope), fmt.Sprint("atomic order ", v.Atomic.Order)}
	case ir.OpICmp, ir.OpFCmp:
		return []string{"compare " + ir.Cond(v.Aux).String()}
	case ir.OpFAdd, ir.OpFSub, ir.OpFMul, ir.OpFDiv, ir.OpFMA, ir.OpFSqrt:
		return []string{v.Op.String() + " " + v.Round.String()}
	case ir.OpFInt:
		return []string{"fint " + ir.Round(v.Aux).String()}
	case ir.OpLoad, ir.OpStore:
		return []string{v.Op.String() + " " + v.Mem.String(), v.Op.String() + " " + v.Args[0].Type.Space.String()}
	case ir.OpCheck:
		return []string{"check " + v.Site.Kind}
	case ir.OpAsm:
		name, _, _ := strings.Cut(v.Sym, " ")
		return []string{"PTX " + name}
	}
	return nil
}

// count counts the operations of a function and their variants, by name.
func count(f *ir.Func) map[string]int {
	n := map[string]int{}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			n[v.Op.String()]++
			for _, name := range variant(v) {
				n[name]++
			}
			for _, a := range v.Args {
				if a.Op == ir.OpConst || a.Op == ir.OpUndef {
					n[a.Op.String()]++
				}
			}
		}
	}
	return n
}

// At least 100 of 500 random kernels must contain each operation, either after lowering or after
// optimization, and each pass must change at least 100 kernels. Each variant of an operation must
// occur at least 5 times.
func TestRandomKernelsHaveAll(t *testing.T) {
	if testing.Short() {
		t.Skip("compiling 500 kernels takes longer than the other tests together")
	}
	n, seed := wanted(t)
	n = max(n, 500)
	seen, passes := map[string]int{}, map[string]int{}
	for first := seed; first < seed+uint64(n); first += perFile {
		m := lowered(t, first, min(first+perFile, seed+uint64(n)), lower.Options{})
		for _, f := range m.Funcs {
			before := count(f)
			counts, err := opt.Run(f, opt.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range counts {
				if c.N > 0 && f.Kernel {
					passes[c.Pass]++
				}
			}
			after := count(f)
			for name := range before {
				seen[name] += max(before[name], after[name])
			}
			for name := range after {
				if before[name] == 0 {
					seen[name] += after[name]
				}
			}
		}
	}
	for op := ir.OpConst; op <= ir.OpAsm; op++ {
		if name := op.String(); notRandom[op] != "" != (seen[name] == 0) || notRandom[op] == "" && seen[name]*5 < n {
			t.Errorf("%d operations %s in %d kernels", seen[name], name, n)
		}
	}
	for _, name := range opt.Passes() {
		share, rare := rarePass[name]
		if !rare {
			share = 0.2
		}
		if notRandomPass[name] != "" != (passes[name] == 0) || notRandomPass[name] == "" && float64(passes[name]) < share*float64(n) {
			t.Errorf("pass %s changed %d of %d kernels", name, passes[name], n)
		}
	}
	for _, name := range variants() {
		if seen[name]*100 < n {
			t.Errorf("%d of %s in %d kernels", seen[name], name, n)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%8d %s", seen[name], name)
	}
	for _, name := range opt.Passes() {
		t.Logf("pass %s changed %d of %d kernels", name, passes[name], n)
	}
}
