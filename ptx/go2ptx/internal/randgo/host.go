package randgo

import (
	"bufio"
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

// File is the text of a package with the kernels, to compile with Go and for the device.
func File(pkg string, kernels []*Kernel) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\n%s%s\n", pkg, imports, parameters()+Prelude)
	for _, k := range kernels {
		b.WriteString(k.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// parameters is the part of data.go that kernels need.
func parameters() string {
	from := strings.Index(dataSource, "type R struct")
	to := strings.Index(dataSource, "// Data is what")
	return dataSource[from:to]
}

// Usable returns an error if Host cannot run here.
func Usable() error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("plain Go runs on linux/amd64, where it fuses nothing, and this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	_, err := exec.LookPath("go")
	return err
}

// Host compiles the kernels with Go and runs each with gpu.Run. The seed of the data of kernel i is
// seed+i. Go fuses nothing, and its optimiser is off: that of Go 1.26.8 compiles two of 1,500
// kernels wrongly (1774 and 1842).
func Host(root string, kernels []*Kernel, seed uint64) ([]Result, error) {
	dir, err := os.MkdirTemp("", "randgo")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	at := filepath.Join(root, "ptx/go2ptx/internal/randgo/host")
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	put := func(name, text string) error {
		real := filepath.Join(dir, name)
		overlay.Replace[filepath.Join(at, name)] = real
		return os.WriteFile(real, []byte(text), 0o666)
	}
	if err := put("kernels.go", File("main", kernels)); err != nil {
		return nil, err
	}
	rest := dataSource[:strings.Index(dataSource, "// R and P are types")] + dataSource[strings.Index(dataSource, "// Data is what"):]
	if err := put("data.go", strings.Replace(rest, "package randgo", "package main", 1)); err != nil {
		return nil, err
	}
	if err := put("shape.go", strings.Replace(shapeSource, "package randgo", "package main", 1)); err != nil {
		return nil, err
	}
	if err := put("main.go", mainText(kernels, seed)); err != nil {
		return nil, err
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o666); err != nil {
		return nil, err
	}
	exe := filepath.Join(dir, "host.exe")
	build := exec.Command("go", "build", "-gcflags=-N -l", "-overlay", filepath.Join(dir, "overlay.json"), "-o", exe, "./ptx/go2ptx/internal/randgo/host")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOAMD64=v1")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the kernels do not compile as Go: %w\n%s", err, text)
	}
	return run(exe, len(kernels))
}

func run(exe string, n int) ([]Result, error) {
	cmd := exec.Command(exe)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := bufio.NewReader(out)
	var results []Result
	for range n {
		one, err := ReadResult(r)
		if err != nil {
			return nil, fmt.Errorf("after %d of %d results: %w, %w", len(results), n, err, cmd.Wait())
		}
		results = append(results, one)
	}
	return results, cmd.Wait()
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
			k(t, d.OI, d.OF, d.OG, d.Cells, d.Wide, d.II, d.IL, d.IB, d.IS, d.FS, d.FD, d.P, d.N, d.M, d.X, d.Y)
		})
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
