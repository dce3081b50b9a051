package randgo

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

//go:embed data.go
var dataSource string

//go:embed shape.go
var shapeSource string

const imports = `import (
	"math"
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

var (
	_ = math.Pi
	_ = bits.Len
	_ num.F16
)
`

// File returns the source of a package with the given kernels. It is compiled both with Go and for
// the device.
func File(pkg string, kernels []*Kernel) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\n%s%s\n", pkg, imports, parameters()+Prelude)
	for _, k := range kernels {
		b.WriteString(k.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// parameters returns the part of data.go that kernels need.
func parameters() string {
	from := strings.Index(dataSource, "type R struct")
	to := strings.Index(dataSource, "// Data is what")
	return dataSource[from:to]
}

// Usable returns an error if Host cannot run on this machine.
func Usable() error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("plain Go runs on linux/amd64, where it fuses nothing, and this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	_, err := exec.LookPath("go")
	return err
}

// Host compiles the kernels with Go and runs each one with gpu.Run. The data for kernel i has the
// seed seed+i.
func Host(root string, kernels []*Kernel, seed uint64) ([]Result, error) {
	data := dataSource[:strings.Index(dataSource, "// R and P are types")] + dataSource[strings.Index(dataSource, "// Data is what"):]
	out, err := RunGo(root, map[string]string{
		"kernels.go": File("main", kernels),
		"data.go":    strings.Replace(data, "package randgo", "package main", 1),
		"shape.go":   strings.Replace(shapeSource, "package randgo", "package main", 1),
		"main.go":    mainText(kernels, seed),
	})
	if err != nil {
		return nil, err
	}
	r := bytes.NewReader(out)
	var results []Result
	for range kernels {
		one, err := ReadResult(r)
		if err != nil {
			return nil, fmt.Errorf("after %d of %d results: %w", len(results), len(kernels), err)
		}
		results = append(results, one)
	}
	return results, nil
}

// RunGo compiles the files of a program with Go, runs the program, and returns its output. Fused
// operations and Go's optimizer are disabled, because Go 1.26.8 compiles some random kernels
// incorrectly. The program can import internal packages of the module at root. RunGo writes only to
// a temporary folder.
func RunGo(root string, files map[string]string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "randgo")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	const at = "ptx/go2ptx/internal/host"
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, text := range files {
		real := filepath.Join(dir, name)
		overlay.Replace[filepath.Join(root, at, name)] = real
		if err := os.WriteFile(real, []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return nil, err
	}
	listFile, exe := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "host.exe")
	if err := os.WriteFile(listFile, list, 0o666); err != nil {
		return nil, err
	}
	build := exec.Command("go", "build", "-gcflags=-N -l", "-overlay", listFile, "-o", exe, "./"+at)
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOAMD64=v1")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the program does not compile as Go: %w\n%s", err, text)
	}
	cmd := exec.Command(exe)
	cmd.Stderr = os.Stderr
	return cmd.Output()
}

func mainText(kernels []*Kernel, seed uint64) string {
	var b strings.Builder
	b.WriteString(`package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/purecuda/cuda/ptx/gpu"
)

var kernels = []func` + Signature + `{
`)
	for _, k := range kernels {
		fmt.Fprintf(&b, "\t%s,\n", k.Name)
	}
	fmt.Fprintf(&b, `}

func main() {
	w := bufio.NewWriter(os.Stdout)
	for i, k := range kernels {
		d := NewData(%d + uint64(i))
		err := gpu.Run(gpu.D1(Blocks), gpu.D1(Block), func(t gpu.Thread) {
			k(t, d.OI, d.OF, d.OG, d.Cells, d.Wide, d.II, d.IL, d.IB, d.IS, d.FS, d.FD, d.P, d.N, d.M, d.X, d.Y, d.Views())
		}, gpu.SharedSize(Dynamic))
		var r Result
		if p := (*gpu.Panic)(nil); errors.As(err, &p) {
			r.Fault = fmt.Sprintf("%%s:%%d: %%v", filepath.Base(p.Frame.File), p.Frame.Line, p.Value)
		} else if err != nil {
			r.Fault = "not a fault: " + err.Error()
		} else {
			r.Outputs = d.Outputs()
		}
		if _, err := r.WriteTo(w); err != nil {
			panic(err)
		}
	}
	w.Flush()
}
`, seed)
	return b.String()
}
