package lower

import (
	"go/types"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
)

func loadKernels(t *testing.T) *source.Program {
	t.Helper()
	s := source.Sources{Path: module + "ptx/go2ptx/internal/lower/testdata/kernels"}
	if err := addFiles(&s, "testdata/kernels"); err != nil {
		t.Fatal(err)
	}
	p, err := source.Load(source.Config{Main: s, Resolve: resolve})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Each kernel compiles to a valid IR module and valid PTX.
func TestKernelsBecomePTX(t *testing.T) {
	p := loadKernels(t)
	for _, k := range p.Kernels {
		t.Run(k.Name, func(t *testing.T) {
			one := *p
			one.Kernels = []*source.Kernel{k}
			m, errs := Lower(&one, Options{})
			for _, err := range errs {
				t.Error(err)
			}
			if t.Failed() {
				t.FailNow()
			}
			if err := m.Verify(); err != nil {
				t.Fatalf("%v\n%s", err, m)
			}
			text := m.String() // format m before emit changes it
			if _, err := emit.Emit(m, emit.Options{Lines: emit.InlinedLines}).Text(); err != nil {
				t.Fatalf("%v\n%s", err, m)
			}
			if again, _ := Lower(&one, Options{}); text != again.String() {
				t.Error("two runs differ")
			}
		})
	}
}

// The test kernels use every function of ptx/gpu that is an intrinsic.
func TestKernelsUseEveryIntrinsic(t *testing.T) {
	p := loadKernels(t)
	reached := map[string]bool{}
	for _, pkg := range p.Packages {
		for _, obj := range pkg.Info.Uses {
			if fn, ok := obj.(*types.Func); ok && fn.Pkg() != nil && fn.Pkg().Path() == pathGPU {
				reached[fn.Name()] = true
			}
		}
	}
	for name := range intrinsics {
		short, ok := strings.CutPrefix(name, pathGPU+".")
		if !ok {
			continue
		}
		short = short[strings.LastIndexByte(short, '.')+1:]
		axis := strings.ContainsAny(short[len(short)-1:], "XYZ") || strings.HasSuffix(short, "Mask")
		if !reached[short] && !axis && short != "pointerAt" && short != "dataOf" {
			t.Errorf("no kernel calls %s", name)
		}
	}
}

// If a kernel requires a block size, BlockDim is a constant.
func TestTheSizeOfTheBlockIsAConstant(t *testing.T) {
	p := loadKernels(t)
	p.Kernels = p.Kernels[:1]
	m, errs := Lower(p, Options{})
	if len(errs) > 0 {
		t.Fatal(errs[0])
	}
	text := m.String()
	if strings.Contains(text, "%ntid") || !strings.Contains(text, "mulwide.u i64 v") {
		t.Errorf("%s", text)
	}
	if l := m.Funcs[0].Launch; !l.Required || l.Block[0] != 256 {
		t.Errorf("launch is %+v", l)
	}
	for _, part := range []int{1, 4} {
		if s := m.Funcs[0].Part(part).Space; s != ir.Global {
			t.Errorf("part %d points to %s", part, s)
		}
	}
}

// Instructions on bit fields must have constants as position and length, because ptxas errs with others.
func TestBitFieldsAreConstant(t *testing.T) {
	m, errs := Lower(loadKernels(t), Options{})
	if len(errs) > 0 {
		t.Fatal(errs[0])
	}
	fields := 0
	for line := range strings.Lines(m.String()) {
		operands, _, found := strings.Cut(line, ` "bf`)
		if !found {
			continue
		}
		fields++
		words := strings.Fields(operands)
		for _, w := range words[len(words)-2:] {
			if !strings.HasPrefix(w, "i32:") {
				t.Errorf("%s is not constant in %s", w, line)
			}
		}
	}
	if fields != 4 {
		t.Errorf("%d instructions on bit fields, want 4", fields)
	}
}
