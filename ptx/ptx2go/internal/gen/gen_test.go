package gen

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/gputest"
)

const head = ".version 7.0\n.target sm_52\n.address_size 64\n"

func entry(comment, name, params string) string {
	return comment + "\n.visible .entry " + name + "(" + params + ")\n{\n\tret;\n}\n"
}

// generate runs the generator on files given as pairs of name and text.
func generate(t *testing.T, opts Options, files ...string) (map[string]string, error) {
	t.Helper()
	dir := gputest.TempDir(t)
	var inputs []string
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.WriteFile(path, []byte(files[i+1]), 0o666); err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(path) == ".ptx" {
			inputs = append(inputs, path)
		}
	}
	opts.Dir = dir
	if opts.Package == "" {
		opts.Package = "p"
	}
	if opts.Forms == (Forms{}) {
		opts.Forms = Forms{Grid: true, Do: true, Prepare: true}
	}
	if opts.Set == "" {
		opts.Set = "Kernels"
	}
	out, err := Generate(opts, inputs)
	texts := map[string]string{}
	for _, f := range out {
		texts[filepath.Base(f.Path)] = string(f.Data)
	}
	return texts, err
}

// one generates one file. It returns the Go text without the line breaks and spaces that
// gofmt controls.
func one(t *testing.T, opts Options, text string) string {
	t.Helper()
	files, err := generate(t, opts, "a.ptx", head+text)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`\s+`).ReplaceAllString(files["a_ptx.go"], " ")
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("the output lacks %q:\n%s", p, text)
		}
	}
}

func TestParametersHaveTheTypesOfTheirDeclarations(t *testing.T) {
	got := one(t, Options{}, entry("", "scale_all", `.param .u64 .ptr .global .align 4 data, .param .f32 f, .param .s16 s,
		.param .u8 c, .param .b16 h, .param .f64 d, .param .align 8 .b8 by[24], .param .u64 n, .param .u64 .ptr .shared .align 4 room`))
	contains(t, got, "type ScaleAll struct", "data driver.Memory, f float32, s int16, c uint8, h uint16, d float64, by [24]byte, n, room uint64) (*driver.Launch, error)",
		"return launcher.calls.Do(on, &cfg, &struct { data driver.Memory f float32", "}{data, f, s, c, h, d, by, n, room}) }", "Passing a View does, because it becomes an interface value. func", "Data driver.Arg[driver.View[byte]] // .u64")
}

func TestCommentsGiveTypesNamesAndModes(t *testing.T) {
	got := one(t, Options{}, entry(`// Adds.
//
// ptx2go: in x float32, out y [4]uint16, inout z Point, raw p, type_ uint32
// ptx2go: name Sum
// ptx2go: block 16x8`, "k", ".param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2, .param .u64 k_param_3, .param .u32 k_param_4"))
	contains(t, got, "// Sum launches the kernel k. // // Adds. type Sum struct",
		"x driver.MemoryOf[float32], y driver.MemoryOf[[4]uint16], z driver.MemoryOf[Point], p driver.CUdeviceptr, type_ uint32",
		"Prepare(cfg, driver.In(x), driver.Out(y), driver.InOut(z), p, type_)",
		"driver.Reads, driver.Writes, driver.ReadsWrites, 0, 0",
		"Grid(x, y int)", "driver.Blocks(y, 8).X")
}

func TestAGridIsOfWholeClusters(t *testing.T) {
	got := one(t, Options{}, `.visible .entry k() .maxntid 256, 1, 1 .reqnctapercluster 8, 1, 1 { ret; }
.visible .entry l() .reqntid 16, 8 .reqnctapercluster 1, 2 { ret; }`)
	contains(t, got, "in blocks of 256 and whole clusters", "Grid: driver.Dim3{X: 8 * driver.Blocks(n, 8*256).X, Y: 1, Z: 1}, Block: driver.D3(256, 1, 1)",
		"Grid(x, y int)", "Grid: driver.Dim3{X: driver.Blocks(x, 16).X, Y: 2 * driver.Blocks(y, 2*8).X, Z: 1}")
}

func TestAPointerIsWhatTheBodyUsesAsAnAddress(t *testing.T) {
	body := `.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)
{
	.reg .b64 %rd<9>;
	.reg .b32 %r<2>;
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	ld.param.u64 %rd3, [c];
	cvta.to.global.u64 %rd4, %rd1;
	add.s64 %rd5, %rd2, 16;
	ld.global.u32 %r1, [%rd5];
	st.global.u64 [%rd4], %rd3;
	ret;
}
`
	contains(t, one(t, Options{}, body), "a, b driver.Memory, c uint64)")
}

func TestBlocksAreThoseTheKernelIsCompiledFor(t *testing.T) {
	for _, c := range []struct{ comment, bounds, want string }{
		{"", "", "driver.D1(256)"},
		{"", ".maxntid 128", "driver.D1(128)"},
		{"", ".maxntid 1024", "driver.D1(256)"},
		{"", ".reqntid 32, 4, 2", "driver.D3(32, 4, 2)"},
		{"// ptx2go: block 64", ".maxntid 128", "driver.D1(64)"},
	} {
		text := c.comment + "\n.visible .entry k()\n" + c.bounds + "\n{\n\tret;\n}\n"
		contains(t, one(t, Options{}, text), "Block: "+c.want)
	}
}

func TestOptionsChooseAndName(t *testing.T) {
	text := entry("", "one_f32", "") + entry("", "two_f32", "") + entry("", "two_f64", "")
	opts := Options{Names: map[string]string{"one_f32": "First"}, Only: regexp.MustCompile("f32$"), Skip: regexp.MustCompile("^three")}
	if err := opts.AddTypes("two_f32: block 32"); err != nil {
		t.Fatal(err)
	}
	got := one(t, opts, text)
	contains(t, got, "type First struct", "type TwoF32 struct", "driver.D1(32)")
	if strings.Contains(got, "f64") {
		t.Error("a kernel that is not wanted was made")
	}
	contains(t, one(t, Options{Unexported: true, Embedded: true}, text), "type oneF32 struct", "func oneF32In(c *driver.Context) (oneF32, error)", `c.Embedded("a.ptx of package p", aPTX)`)
	contains(t, one(t, Options{Prefix: "My"}, text), "type MyTwoF64 struct")
	contains(t, one(t, Options{Qualify: true}, entry("", "add", "")+entry("", "b_all", "")), "type Add struct", "type ABAll struct")
	few := one(t, Options{Forms: Forms{Grid: true}}, text)
	contains(t, few, "type OneF32 struct{ kernel *driver.Kernel }", "{ return launcher.kernel }", "func (OneF32) Grid(", ") Op(")
	if strings.Contains(few, ") Do(") || strings.Contains(few, "OneF32Args") {
		t.Error("forms that were not asked for were made")
	}
	if err := opts.AddTypes("two_f32"); err == nil {
		t.Error("a description without a kernel was accepted")
	}
}

func TestOutputDoesNotDependOnTheOrderOfInputs(t *testing.T) {
	a, b := head+entry("", "a", ""), head+entry("", "b", "")
	one, err1 := generate(t, Options{Tags: "linux && !arm"}, "x.ptx", a, "y.ptx", b)
	two, err2 := generate(t, Options{Tags: "linux && !arm"}, "y.ptx", b, "x.ptx", a)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	for name, text := range one {
		if two[name] != text {
			t.Errorf("%s is different", name)
		}
		contains(t, text, "// Code generated by ptx2go; DO NOT EDIT.\n\n//go:build linux && !arm\n\npackage p\n")
	}
}

func TestWhatIsWrongIsSaidWithFileAndLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a wrong size", head + entry("// ptx2go: n uint64", "k", ".param .u32 n"), "a.ptx:5: parameter n: a uint64 has 8 bytes, but the parameter is .u32 with 4"},
		{"a wrong kind", head + entry("// ptx2go: n float32", "k", ".param .u32 n"), "the parameter is .u32, not a float32"},
		{"an int", head + entry("// ptx2go: n int", "k", ".param .u32 n"), "use int32 or int64"},
		{"a slice", head + entry("// ptx2go: n []byte", "k", ".param .u32 n"), "slices cannot be passed"},
		{"no parameter of that name", head + entry("// ptx2go: m uint32", "k", ".param .u32 n, .param .u32 o"), `a.ptx:4: kernel k has no parameter "m"`},
		{"too many parameters", head + entry("// ptx2go: a uint32, b uint32", "k", ".param .u32 n"), "a.ptx:4: kernel k takes 1 parameters, but 2 are described"},
		{"an address that is none", head + entry("// ptx2go: in n uint32", "k", ".param .u32 n"), "parameter n is .u32, which is not an address"},
		{"a wrong word", head + entry("// ptx2go: in 3 uint32", "k", ".param .u32 n"), `"3" is not a parameter's name`},
		{"a wrong name", head + entry("// ptx2go: name a-b", "k", ""), `a.ptx:4: "a-b" is not a Go name`},
		{"a wrong block", head + entry("// ptx2go: block 0", "k", ""), `a.ptx:4: "0" is not the size of a block`},
		{"a block beyond the kernel's", head + "// ptx2go: block 512\n.visible .entry k()\n.maxntid 256\n{\n\tret;\n}\n", "at most 256 threads"},
		{"a block that is not the kernel's", head + "// ptx2go: block 512\n.visible .entry k()\n.reqntid 256\n{\n\tret;\n}\n", ".reqntid"},
		{"a struct that is none", head + entry("// ptx2go: struct S uint32", "k", ""), "write a struct as"},
		{"a struct with a map", head + entry("// ptx2go: struct S { M map[int]int }", "k", ""), "struct S"},
		{"two kernels of one name", head + entry("", "do_it", "") + entry("", "doIt", ""), "DoIt is also the Go name of something else (a.ptx:5)"},
		{"two parameters of one name", head + entry("", "k", ".param .u32 a_b, .param .u32 aB"), "both become AB in Go"},
		{"a parameter named as the kernel", head + entry("", "k", ".param .u32 k"), "a.ptx:5: kernel k has a parameter of its own name"},
		{"no kernels", head, "no selected kernel"},
		{"a syntax error", head + ".visible .entry k( {", "a.ptx:4"},
	} {
		_, err := generate(t, Options{}, "a.ptx", c.text)
		if err == nil {
			t.Errorf("%s: no error", c.name)
		} else if text := regexp.MustCompile(`(C:)?[/\\]\S*[/\\]`).ReplaceAllString(err.Error(), ""); !strings.Contains(text, c.want) {
			t.Errorf("%s: the error is\n%s\nand does not say %q", c.name, text, c.want)
		}
	}
}

func TestSeveralErrorsAreReportedAtOnce(t *testing.T) {
	_, err := generate(t, Options{}, "a.ptx", head+entry("// ptx2go: n uint64", "k", ".param .u32 n")+entry("// ptx2go: block x", "l", ""), "b.ptx", head)
	for _, want := range []string{"parameter n", "size of a block", "no selected kernel"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
