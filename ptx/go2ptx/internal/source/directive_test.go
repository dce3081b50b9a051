package source

import (
	"strings"
	"testing"
)

func kernelText(directives, decl string) string {
	return "package heat\n\nimport \"github.com/purecuda/cuda/ptx/gpu\"\n\n" + directives + "\n" + decl + "\n"
}

const plainKernel = "func step(t gpu.Thread, a, b []float32, n int) {}"

func TestDirectives(t *testing.T) {
	p := mustLoad(t, kernelText("// Step does it.\n//\n//gpu:kernel block=16x8 minblocks=2 regs=64 cluster=2 shared=4096 restrict=a,b trap fma=off name=fast\n//gpu:nobounds\n//gpu:noinline", plainKernel))
	d := p.Kernels[0].Directives
	if d.Block != [3]int{16, 8, 1} || d.MinBlocks != 2 || d.MaxRegs != 64 || d.Cluster != [3]int{2, 1, 1} || d.Shared != 4096 ||
		!d.Restricted("a") || !d.Restricted("b") || d.Restricted("n") || !d.Trap || !d.NoFMA || d.Name != "fast" || !d.NoBounds || !d.NoInline {
		t.Errorf("%+v", d)
	}
	if k := p.Kernels[0]; k.Name != "fast" {
		t.Errorf("name %s", k.Name)
	}
	p = mustLoad(t, kernelText("//gpu:kernel maxblock=512 restrict", plainKernel))
	if d := p.Kernels[0].Directives; d.MaxBlock != 512 || !d.Restricted("a") {
		t.Errorf("%+v", d)
	}
}

func TestErrorsInDirectives(t *testing.T) {
	for directives, message := range map[string]string{
		"//gpu:kernel block=0":                            "f0.go:5:14: block=0: write a number from 1 to 1024",
		"//gpu:kernel block=+1":                           "f0.go:5:14: block=+1: write a number",
		"//gpu:kernel  block=32x64":                       "f0.go:5:15: block=32x64 is 2048 in all, but at most 1024",
		"//gpu:kernel block=1x1x128":                      "f0.go:5:14: block=1x1x128: the third size is at most 64",
		"//gpu:kernel block=1x1x1x1":                      "f0.go:5:14: block=1x1x1x1: at most three sizes",
		"//gpu:kernel block=1 maxblock=2":                 "f0.go:5:1: block fixes the size",
		"//gpu:kernel trap trap":                          "f0.go:5:19: the option trap is given twice",
		"//gpu:kernel trap=1":                             "f0.go:5:14: trap has no value",
		"//gpu:kernel fma":                                "f0.go:5:14: write fma=off",
		"//gpu:kernel name=a.b":                           "f0.go:5:14: name=a.b: a name in PTX",
		"//gpu:kernel speed=9":                            "f0.go:5:14: unknown option \"speed\"",
		"//gpu:kernel\n//gpu:kernel":                      "f0.go:6:1: the function has two",
		"// gpu:nobounds\n//gpu:kernel":                   "f0.go:5:1: a directive has no space after the slashes: write //gpu:nobounds",
		"//gpu:kernle":                                    "f0.go:5:1: unknown directive //gpu:kernle",
		"//gpu:kernel\n//gpu:nobounds x":                  "f0.go:6:16: //gpu:nobounds has no options",
		"//gpu:intrinsic":                                 "f0.go:5:1: only packages of the library",
		"//gpu:instance int":                              "f0.go:5:16: //gpu:instance needs //gpu:kernel",
		"//gpu:kernel\n//gpu:instance":                    "f0.go:6:15: //gpu:instance needs types",
		"//gpu:kernel\n//gpu:instance int":                "f0.go:6:16: kernel step has no type parameters",
		"//gpu:kernel\n//gpu:instance a..b":               "f0.go:6:16: a..b is not a list of types",
		"//gpu:kernel restrict=c":                         "f0.go:5:1: restrict=c: kernel step has no slice or pointer",
		"//gpu:kernel restrict=n":                         "f0.go:5:1: restrict=n: kernel step has no slice or pointer",
		"//gpu:unroll 2\n//gpu:kernel":                    "f0.go:5:1: //gpu:unroll is not directly above a loop",
		"//gpu:kernel block=8\n\n// Step is apart.":       "f0.go:5:1: the directive is not directly above a function",
		"//gpu:kernel\nvar x int\n\n//gpu:kernel trap=no": "f0.go:5:1: the directive is not directly above a function",
	} {
		_, err := load(t, kernelText(directives, plainKernel))
		if err == nil || !strings.HasPrefix(err.Error(), message) {
			t.Errorf("%s:\n\t%v\nwant\n\t%s", directives, err, message)
		}
	}
}

func TestUnrollDirectives(t *testing.T) {
	for body, message := range map[string]string{
		"//gpu:unroll 4\nfor range n {}":                                   "",
		"//gpu:unroll 0\nfor range n {}":                                   "",
		"//gpu:unroll 128 \n// A comment.\nfor range n {}":                 "",
		"//gpu:unroll 4\nl:\nfor range n { continue l }":                   "",
		"//gpu:unroll 4\nl: for range n { continue l }":                    "",
		"//gpu:unroll\nfor range n {}":                                     "f0.go:7:1: //gpu:unroll n: write a number from 0 to 128",
		"//gpu:unroll 129\nfor range n {}":                                 "f0.go:7:1: //gpu:unroll n: write a number from 0 to 128",
		"//gpu:unroll -1\nfor range n {}":                                  "f0.go:7:1: //gpu:unroll n: write a number",
		"//gpu:unroll 2 4\nfor range n {}":                                 "f0.go:7:1: //gpu:unroll n: write a number",
		"//gpu:unroll 4\n\nfor range n {}":                                 "f0.go:7:1: //gpu:unroll is not directly above a loop",
		"//gpu:unroll 4\nif n > 0 {}":                                      "f0.go:7:1: //gpu:unroll is not directly above a loop",
		"//gpu:unrolled 4\nfor range n {}":                                 "f0.go:7:1: the directive is not directly above a function",
		"for range n {\n//gpu:nobounds\nfor range n {}\n}":                 "f0.go:8:1: the directive is not directly above a function",
		"//gpu:unroll 3\nfor range n {\n//gpu:unroll 2\nfor range n {}\n}": "",
	} {
		p, err := load(t, kernelText("//gpu:kernel", "func step(t gpu.Thread, n int) {\n"+body+"\n}"))
		switch {
		case err == nil && message == "":
			if len(p.unroll) == 0 {
				t.Errorf("%s: no directive was found", body)
			}
		case err == nil || message == "" || !strings.HasPrefix(err.Error(), message):
			t.Errorf("%s:\n\t%v\nwant\n\t%s", body, err, message)
		}
	}
}

func TestSignaturesThatAreRefused(t *testing.T) {
	for decl, message := range map[string]string{
		"func step() {}":                               "f0.go:6:6: the first parameter of kernel step must be a gpu.Thread",
		"func step(n int, t gpu.Thread) {}":            "f0.go:6:6: the first parameter of kernel step must be",
		"func step(t, u gpu.Thread) {}":                "f0.go:6:14: parameter u of kernel step: only the first",
		"func step(t gpu.Thread) int { return 1 }":     "f0.go:6:6: kernel step has results",
		"func step(t gpu.Thread, x ...int) {}":         "f0.go:6:6: kernel step is variadic",
		"func step(t gpu.Thread, s string) {}":         "f0.go:6:25: parameter s of kernel step: a parameter cannot be a string",
		"func step(t gpu.Thread, m map[int]int) {}":    "f0.go:6:25: parameter m of kernel step: a parameter cannot have type map[int]int",
		"func step(t gpu.Thread, s [][]int) {}":        "f0.go:6:25: parameter s of kernel step: the elements of a slice cannot be a slice",
		"func step(t gpu.Thread, s struct{p *int}) {}": "f0.go:6:25: parameter s of kernel step: field p cannot be a pointer",
		"func step(t gpu.Thread, s any) {}":            "f0.go:6:25: parameter s of kernel step: a parameter cannot have type any",
		"func step(t gpu.Thread)":                      "f0.go:6:6: kernel step has no body",
		"func größe(t gpu.Thread) {}":                  "f0.go:6:6: größe cannot be a name in PTX",
		"func step[T any](t gpu.Thread, x T) {}":       "f0.go:6:6: kernel step is generic; list its instances",
		"type S int\n\nfunc (S) step(t gpu.Thread) {}": "f0.go:5:1: the directive is not directly",
	} {
		_, err := load(t, kernelText("//gpu:kernel", decl))
		if err == nil || !strings.HasPrefix(err.Error(), message) {
			t.Errorf("%s:\n\t%v\nwant\n\t%s", decl, err, message)
		}
	}
	_, err := load(t, kernelText("type S int\n\n//gpu:kernel", "func (S) step(t gpu.Thread) {}"))
	want(t, err, "f0.go:8:10: a kernel is a function")
	_, err = load(t, kernelText("//gpu:kernel name=b", "func a(t gpu.Thread) {}\n\n//gpu:kernel\nfunc b(t gpu.Thread) {}"))
	want(t, err, "f0.go:9:6: kernel b has the same name in PTX as that at f0.go:6:6")
}

func TestInstances(t *testing.T) {
	half := sources("example.org/half", "package half\n\ntype F16 struct{ bits uint16 }\n")
	text := `package heat

import (
	"example.org/half"
	"github.com/purecuda/cuda/ptx/gpu"
)

type pair struct{ a, b int32 }

//gpu:kernel block=128
//gpu:instance float32,int half.F16,pair
//gpu:instance [4]int8,pair
func scale[T any, I comparable](t gpu.Thread, x []T, by I) {}
`
	p := mustLoad(t, text, half)
	var got []string
	for _, k := range p.Kernels {
		got = append(got, k.Name+" "+k.Signature.Params().At(1).Type().String())
	}
	want := "scale_float32_int []float32|scale_F16_pair []example.org/half.F16|scale_4_int8_pair [][4]int8"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("instances are %s, want %s", s, want)
	}
	for instance, message := range map[string]string{
		"float32":           "float32: kernel scale has 2 type parameters",
		"float32,[]int":     "[]int does not satisfy comparable",
		"float32,nothing":   "undefined: nothing",
		"float32,scale":     "scale is not a type",
		"chan_,int":         "undefined: chan_",
		"chan[int],int":     "chan[int],int is not a list of types",
		"map[int]bool,int":  "parameter x of kernel scale: the elements of a slice cannot have type map",
		"float32,int,int32": "float32,int,int32: kernel scale has 2 type parameters",
	} {
		_, err := load(t, strings.Replace(text, "[4]int8,pair", instance, 1), half)
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: error %v, want %s", instance, err, message)
		}
	}
}
