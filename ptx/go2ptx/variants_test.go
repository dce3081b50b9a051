package go2ptx_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

const variantKernel = `package p

import "github.com/purecuda/cuda/ptx/gpu"

//gpu:kernel block=64
func k(t gpu.Thread, x, y []int32) {
	if gpu.Arch() >= 80 {
		y[0] = gpu.ReduceAdd(t, x[0])
		return
	}
	if gpu.Arch() == 0 {
		y[1] = x[1]
	}
	if gpu.Arch() == 70 {
		x[2] = y[2]
	}
}
`

func compileVariants(target string, variants ...string) (*go2ptx.Output, error) {
	return go2ptx.Compile(go2ptx.Config{
		Package: go2ptx.Package{Path: "p", Files: []go2ptx.File{{Name: "p.go", Data: []byte(variantKernel)}}},
		Target:  target, Variants: variants, PTXFile: "p_gpu.ptx", NoBounds: true,
	})
}

// Each variant must contain only the code for its architecture. The launchers must allow for what
// the kernels do in any variant.
func TestVariants(t *testing.T) {
	out, err := compileVariants("", "sm_70", "sm_90a")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(out.PTX)}
	for _, v := range out.Variants {
		texts = append(texts, string(v.PTX))
	}
	if len(texts) != 3 || out.Variants[0].File != "p_gpu.sm_70.ptx" || out.Variants[1].Target != "sm_90a" {
		t.Fatalf("the variants are %+v", out.Variants)
	}
	for i, want := range []struct {
		target string
		redux  bool
	}{{"sm_52", false}, {"sm_70", false}, {"sm_90a", true}} {
		m, err := ptx.Parse("p", []byte(texts[i]))
		if err != nil {
			t.Fatal(err)
		}
		if m.Targets[0] != want.target || strings.Contains(texts[i], "redux") != want.redux || strings.Count(texts[i], "st.global") != 1 {
			t.Errorf("want %+v and one store:\n%s", want, texts[i])
		}
	}
	for _, want := range []string{
		`c.EmbeddedVariant("p_gpu.ptx of package p", [][]byte{gpuPTX, gpuVariant1, gpuVariant2})`,
		"//go:embed p_gpu.sm_90a.ptx\nvar gpuVariant2 []byte",
		`gpuCalls(c, "k", driver.ReadsWrites, driver.ReadsWrites)`,
	} {
		if !strings.Contains(string(out.Go), want) {
			t.Errorf("%s is missing in\n%s", want, out.Go)
		}
	}
	single, err := compileVariants("")
	if err != nil {
		t.Fatal(err)
	}
	if single.Hash == out.Hash || strings.Contains(string(single.Go), "Variant") || string(single.PTX) != texts[0] {
		t.Errorf("without variants, hash %s\n%s", single.Hash, single.Go)
	}
}

// The host must be able to set a variable even if only some of the variants use it.
func TestVariablesOfVariants(t *testing.T) {
	const text = `package p

import "github.com/purecuda/cuda/ptx/gpu"

var (
	old = gpu.GlobalOf[int32](1)
	new = gpu.GlobalOf[int32](2)
)

//gpu:kernel block=64
func k(t gpu.Thread, x []int32) {
	if gpu.Arch() >= 90 {
		x[0] = new.Load()
	} else {
		x[0] = old.Load()
	}
}
`
	out, err := go2ptx.Compile(go2ptx.Config{
		Package:  go2ptx.Package{Path: "p", Files: []go2ptx.File{{Name: "p.go", Data: []byte(text)}}},
		Variants: []string{"sm_90"}, PTXFile: "p_gpu.ptx",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"OldIn", "NewIn"} {
		if n := strings.Count(string(out.Go), "\nfunc "+name+"("); n != 1 {
			t.Errorf("%d functions %s:\n%s", n, name, out.Go)
		}
	}
}

func TestVariantsThatAreRejected(t *testing.T) {
	for _, c := range []struct {
		target   string
		variants []string
		want     string
	}{
		{"", []string{"ninety"}, `the variant "ninety" is not a target such as sm_90`},
		{"sm_80", []string{"sm_80"}, "the variant sm_80 is given twice, or is the target"},
		{"", []string{"sm_80", "sm_80"}, "the variant sm_80 is given twice, or is the target"},
		{"sm_80", []string{"sm_70"}, "the variant sm_70 is older than the target sm_80"},
	} {
		if _, err := compileVariants(c.target, c.variants...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v", c.target, c.variants, err)
		}
	}
}

// A pass that is skipped leaves its mark in the code. An unknown pass is an error.
func TestSkip(t *testing.T) {
	compile := func(skip ...string) (*go2ptx.Output, error) {
		return go2ptx.Compile(go2ptx.Config{
			Package: go2ptx.Package{Path: "p", Files: []go2ptx.File{{Name: "p.go", Data: []byte(
				"package p\n\nimport \"github.com/purecuda/cuda/ptx/gpu\"\n\n//gpu:kernel block=64\nfunc k(t gpu.Thread, x []float32) {\n\tx[0] = x[0]*x[1] + x[2]\n}\n")}}},
			Skip: skip,
		})
	}
	out, err := compile()
	if err != nil {
		t.Fatal(err)
	}
	without, err := compile("fma")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out.PTX), "fma.rn") || strings.Contains(string(without.PTX), "fma.rn") || out.Hash == without.Hash {
		t.Errorf("hash %s\n%s\nwithout fma: hash %s\n%s", out.Hash, out.PTX, without.Hash, without.PTX)
	}
	if _, err := compile("fma", "magic"); err == nil || !strings.Contains(err.Error(), `there is no pass "magic" to skip: the passes are cfg, sroa,`) {
		t.Error(err)
	}
}
