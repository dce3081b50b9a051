package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx"
)

// A form is the Go code in a table row.
type form struct {
	line  int
	spans []string
}

var span = regexp.MustCompile("`([^`]+)`")

// forms returns the Go code in the second column of a page's tables, by section.
func forms(page string) map[string][]form {
	all, section := map[string][]form{}, ""
	for i, line := range strings.Split(page, "\n") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
		if len(cells) != 4 || section == "" {
			continue
		}
		f := form{line: i + 1}
		for _, m := range span.FindAllStringSubmatch(cells[2], -1) {
			// Commands and names of types and fields are not code.
			if s := strings.ReplaceAll(m[1], "\x00", "|"); !strings.HasPrefix(s, "go2ptx") && !named.MatchString(s) {
				f.spans = append(f.spans, s)
			}
		}
		if f.spans != nil {
			all[section] = append(all[section], f)
		}
	}
	return all
}

var named = regexp.MustCompile(`^(ptx/gpu/math|LaunchConfig\.SharedMem|gpu\.Conditional|context\.Context|Cooperative: true)$`)

// split separates a form into declarations and statements. It adds uses of the results, so that the
// code compiles.
func (f form) split() (top, body string) {
	directives := ""
	for _, s := range f.spans {
		name := regexp.MustCompile(`^(\w+(?:, \w+)*) := `).FindStringSubmatch(s)
		switch {
		case strings.HasPrefix(s, "//gpu:"):
			directives += s + "\n"
		case strings.HasPrefix(s, "func "):
			top += "\n" + directives + s + "\n"
			if directives == "" {
				body += "\t_ = f(v)\n"
			}
			directives = ""
		case strings.HasPrefix(s, "type "), strings.HasPrefix(s, "var ") && strings.Contains(s, "gpu."), strings.HasPrefix(s, "var weights"):
			top += s + "\n"
			if strings.HasPrefix(s, "type ") {
				body += "\t_ = " + strings.Fields(s)[1] + "{}\n"
			}
		case strings.HasPrefix(s, "var "):
			body += "\t" + s + "\n\t_ = " + strings.Fields(s)[1] + "\n"
		case name != nil:
			body += "\t{\n\t" + s + "\n" + "\t_" + strings.Repeat(", _", strings.Count(name[1], ",")) + " = " + name[1] + "\n"
			defer func() { body += "\t}\n" }()
		case call.MatchString(s):
			body += "\t" + s + "\n"
		default:
			body += "\t_ = " + s + "\n"
		}
	}
	for _, d := range strings.SplitAfter(directives, "\n") {
		if d != "" {
			top += fmt.Sprintf("\n%sfunc f%d(t gpu.Thread, x, y []float32) {}\n", d, len(top))
		}
	}
	return top, body
}

var call = regexp.MustCompile(`^(t|c|x|y|k|v|h|stream|gpu|driver|bits|math|math32|num|copy|clear|panic)[.(].*\)$`)

// go2ptx must compile each form in the page's sections about kernels.
func TestFormsOfCUDA(t *testing.T) {
	page, err := os.ReadFile("../../docs/kernels-from-cuda.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for section, list := range forms(string(page)) {
		for _, f := range list {
			if section == "On the host" {
				continue
			}
			n++
			top, body := f.split()
			compileForm(t, f.line, top, body)
		}
	}
	if n < 60 {
		t.Errorf("the page has %d forms", n)
	}
	code := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(page)
	compileForm(t, 0, string(code[1]), "")
}

func compileForm(t *testing.T, line int, top, body string) {
	t.Helper()
	math := "github.com/purecuda/cuda/ptx/gpu/math"
	if strings.Contains(body, "Float32bits") {
		math = "math"
	}
	text := fmt.Sprintf(`package p

import (
	"math/bits"

	%q
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	"github.com/purecuda/cuda/ptx/num"
)

var _, _, _, _ = math32.Exp, math.Sqrt, bits.Len, num.ToF16
%s
//gpu:kernel block=128
func kernel(t gpu.Thread, x, y []float32, n []int32, d float64, mask, u uint32, k int32, i int, ok bool, h num.F16, c gpu.Conditional) {
	v := x[0]
	tile := gpu.Shared[[4]float32](t)
	bar := gpu.Shared[gpu.Barrier](t)
	dst := &tile[1]
%s
	_, _, _, _ = v, tile, bar, dst
}
`, math, top, body)
	if strings.Contains(body, "x[n:]") {
		text = strings.Replace(text, "n []int32", "n int", 1)
	}
	out, err := go2ptx.Compile(go2ptx.Config{Package: go2ptx.Package{Path: "p", GoVersion: "1.25", Files: []go2ptx.File{{Name: "p.go", Data: []byte(text)}}}})
	if err != nil {
		t.Errorf("kernels-from-cuda.md:%d: %v\n%s%s", line, err, top, body)
	} else if len(out.Kernels) < 1 {
		t.Errorf("kernels-from-cuda.md:%d: there is no kernel", line)
	}
}

// The forms in the section about the host must compile together with the launcher of a kernel.
func TestHostFormsOfCUDA(t *testing.T) {
	page, err := os.ReadFile("../../docs/kernels-from-cuda.md")
	if err != nil {
		t.Fatal(err)
	}
	list := forms(string(page))["On the host"]
	if len(list) < 8 {
		t.Fatalf("the section has %d forms", len(list))
	}
	text := `package p

import (
	"context"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/gpu"
)

var gain gpu.Constant[float32]

//gpu:kernel
func scale(t gpu.Thread, x []float32, n int) { x[0] *= gain.Load() }

`
	for i, f := range list {
		var spans []string
		for _, s := range f.spans {
			if !strings.HasPrefix(s, "func ") && !strings.HasPrefix(s, "var ") {
				spans = append(spans, s)
			}
		}
		_, body := form{f.line, spans}.split()
		text += fmt.Sprintf("// line %d\nfunc host%d(c context.Context, ctx *driver.Context, stream *driver.Stream, k Scale, x *driver.Buffer[float32], h []float32, n int) {\n%s}\n\n", f.line, i, body)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, root: root, page: "kernels-from-cuda.md", dir: t.TempDir()}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the test needs a shell")
	}
	r.write(step{file: "p.go", text: text})
	r.run(step{text: module + "go run github.com/purecuda/cuda/ptx/cmd/go2ptx\ngo build .\n"})
}
