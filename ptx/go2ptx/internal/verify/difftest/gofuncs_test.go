package difftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/verify/gofuncs"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/verify/randgo"
)

// goFiles lists the files of the Go team's test data that contain functions of numbers, with the
// minimum number of such functions. The file short_test.go is not listed, because its functions
// assign to a package-level variable.
var goFiles = map[string]int{
	"arithBoundary_test.go": 40, "arithConst_test.go": 800, "arith_test.go": 130, "break_test.go": 15, "cmpConst_test.go": 900, "cmp_test.go": 2,
	"compound_test.go": 2, "ctl_test.go": 3, "divbyzero_test.go": 1, "fp_test.go": 75, "regalloc_test.go": 2,
}

// longFiles lists those of goFiles that have five of six functions: each has one operation and one constant.
var longFiles = []string{"arithConst_test.go", "cmpConst_test.go"}

const inputs = 48 // inputs per function

// words returns the inputs of a function. The inputs of conversions from float to integer are small
// numbers, because Go does not specify the results for others.
func words(f gofuncs.Func, seed uint64) []uint64 {
	r := rand.New(rand.NewPCG(seed, 3))
	odd := []uint64{0, 1, 2, 3, math.MaxUint64, 1 << 63, 1<<63 - 1, 1<<31 - 1, 1 << 31, 127, 128, 255, 1 << 15, math.MaxUint32, 64, 63}
	oddFloats := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 3, 1e10, -7.25, math.Inf(1), math.Inf(-1), math.NaN(), 1e-300, 4, 2}
	toInt := strings.HasPrefix(f.Name, "F32to") || strings.HasPrefix(f.Name, "F64to")
	var in []uint64
	for range inputs {
		for _, t := range f.Params {
			for range gofuncs.Words([]string{t}) {
				v := oddFloats[r.IntN(len(oddFloats))]
				if r.IntN(3) == 0 {
					v = math.Ldexp(r.Float64()-0.5, r.IntN(40)-20)
				}
				if toInt {
					v = float64(r.IntN(500)) / 4
				}
				switch t {
				case "float32", "complex64":
					in = append(in, uint64(math.Float32bits(float32(v))))
				case "float64", "complex128":
					in = append(in, math.Float64bits(v))
				default:
					w := odd[r.IntN(len(odd))]
					if r.IntN(3) == 0 {
						w = r.Uint64() >> r.IntN(64)
					}
					in = append(in, w)
				}
			}
		}
	}
	return in
}

// goOutcome records the results of a function in Go, for all inputs.
type goOutcome struct {
	Skip []uint8 // 1 for inputs at which the function panics
	Out  []uint64
}

const goMain = `package main

import (
	"encoding/json"
	"os"

	"github.com/purecuda/cuda/ptx/gpu"
)

type work struct {
	kernel func(gpu.Thread, []uint8, []uint64, []uint64)
	in     []uint64
	out    int
}

type outcome struct {
	Skip []uint8
	Out  []uint64
}

func (w work) run() (o outcome) {
	o = outcome{make([]uint8, inputs), make([]uint64, inputs*w.out)}
	for i := range inputs {
		all := make([]uint8, inputs)
		for k := range all {
			all[k] = 1
		}
		all[i] = 0
		if gpu.Run(gpu.D1(1), gpu.D1(inputs), func(t gpu.Thread) { w.kernel(t, all, w.in, o.Out) }) != nil {
			o.Skip[i] = 1
		}
	}
	return o
}

func main() {
	e := json.NewEncoder(os.Stdout)
	for _, w := range all {
		if err := e.Encode(w.run()); err != nil {
			panic(err)
		}
	}
}
`

func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// functions contains the functions of a file, their inputs, and their results in Go.
type functions struct {
	File string
	PTX  []byte
	All  []function
}

type function struct {
	gofuncs.Func
	In   []uint64
	Want goOutcome
}

// inGo compiles the functions of a file with Go and runs them.
func inGo(t *testing.T, f *gofuncs.File, name string) functions {
	t.Helper()
	var table strings.Builder
	fmt.Fprintf(&table, "package main\n\nconst inputs = %d\n\nvar all = []work{\n", inputs)
	for i, fn := range f.Funcs {
		fmt.Fprintf(&table, "\t{%s, %#v, %d},\n", fn.KernelName(), words(fn, uint64(i)), gofuncs.Words(fn.Results))
	}
	table.WriteString("}\n")
	printed, err := randgo.RunGo("../../../../..", map[string]string{"kernels.go": f.Text, "main.go": goMain, "table.go": table.String()})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	host := json.NewDecoder(strings.NewReader(string(printed)))
	text := strings.Replace(f.Text, "package main", "package gofuncs", 1)
	made, err := compile(strings.TrimSuffix(name, "_test.go")+".go", text, go2ptx.Config{NoFMA: true})
	if err != nil {
		t.Fatalf("%s: %+v", name, err)
	}
	out := functions{File: name, PTX: made.PTX}
	for i, fn := range f.Funcs {
		one := function{Func: fn, In: words(fn, uint64(i))}
		if err := host.Decode(&one.Want); err != nil {
			t.Fatal(err)
		}
		out.All = append(out.All, one)
	}
	return out
}

// The functions with which the Go team tests its compiler must have the same results on a device.
// If [Save] is set, the results are also saved for TestSavedFunctions.
func TestGoFunctions(t *testing.T) {
	if err := randgo.Usable(); err != nil {
		t.Skip(err)
	}
	root := goroot(t)
	var all []functions
	for _, name := range slices.Sorted(maps.Keys(goFiles)) {
		if testing.Short() && slices.Contains(longFiles, name) {
			continue
		}
		files, err := gofuncs.Read(root, name)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(files[0].Funcs); n < goFiles[name] {
			t.Errorf("%s has %d functions, fewer than %d", name, n, goFiles[name])
		}
		all = append(all, inGo(t, files[0], name))
	}
	if dir := os.Getenv(Save); dir != "" {
		b, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, savedFunctions), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	onDevices(t, all)
}

const savedFunctions = "functions.saved"

// TestSavedFunctions runs the functions that TestGoFunctions has saved, for use on a machine
// without Go.
func TestSavedFunctions(t *testing.T) {
	dir := os.Getenv(Save)
	if dir == "" {
		t.Skipf("%s names no folder with saved functions", Save)
	}
	b, err := os.ReadFile(filepath.Join(dir, savedFunctions))
	if err != nil {
		t.Fatal(err)
	}
	var all []functions
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	onDevices(t, all)
}

func onDevices(t *testing.T, all []functions) {
	t.Helper()
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		functions, results := 0, 0
		for _, f := range all {
			mod, err := c.LoadModule(f.PTX)
			if err != nil {
				t.Fatalf("%s: %+v", f.File, err)
			}
			for _, fn := range f.All {
				results += goFunction(t, c, mod, fn)
				functions++
			}
			if err := mod.Close(); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%d functions, %d results", functions, results)
	})
}

// goFunction compares the results of a function and returns their number.
func goFunction(t *testing.T, c *driver.Context, mod *driver.Module, fn function) int {
	t.Helper()
	in, want := fn.In, fn.Want
	k, err := mod.Kernel(fn.KernelName())
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := make([]uint64, len(want.Out))
	args := []any{}
	var out *driver.Buffer[uint64]
	skip, err := driver.AllocFrom(c, want.Skip)
	if err != nil {
		t.Fatal(err)
	}
	defer skip.Close()
	args = append(args, sliceOf(skip))
	if len(in) == 0 {
		args = append(args, slice{})
	} else {
		b, err := driver.AllocFrom(c, in)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		args = append(args, sliceOf(b))
	}
	if out, err = driver.AllocFrom(c, got); err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	args = append(args, sliceOf(out))
	cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(inputs)}
	if err := errors.Join(k.Launch(s, cfg, args...), s.Wait(context.Background()), out.CopyTo(got)); err != nil {
		t.Errorf("%s: %v", fn.Name, err)
		return 0
	}
	n, per := 0, gofuncs.Words(fn.Results)
	for i, g := range got {
		if want.Skip[i/per] != 0 {
			continue
		}
		if n++; g != want.Out[i] {
			t.Errorf("%s: %s: input %d (%x): result %d is %#x, want %#x", fn.File, fn.Name, i/per, in[i/per*(len(in)/inputs):(i/per+1)*(len(in)/inputs)], i%per, g, want.Out[i])
			break
		}
	}
	return n
}
