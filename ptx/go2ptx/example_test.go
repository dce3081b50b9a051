package go2ptx_test

import (
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx"
)

const scale = `package example

import "github.com/purecuda/cuda/ptx/gpu"

//gpu:kernel block=256
func scale(t gpu.Thread, x []float32, k float32) {
	if i := t.GlobalX(); i < len(x) {
		x[i] = x[i]*k + 1
	}
}
`

func ExampleCompile() {
	out, err := go2ptx.Compile(go2ptx.Config{
		Package: go2ptx.Package{Path: "example", Files: []go2ptx.File{{Name: "scale.go", Data: []byte(scale)}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	k := out.Kernels[0]
	fmt.Println(k.Name, k.Block, strings.Contains(string(out.PTX), ".visible .entry scale("))

	// Output: scale [256 1 1] true
}

// Target selects the instructions that the PTX may use. With NoFMA, the results are bit-identical
// to those of a CPU.
func ExampleConfig() {
	cfg := go2ptx.Config{
		Package: go2ptx.Package{Path: "example", Files: []go2ptx.File{{Name: "scale.go", Data: []byte(scale)}}},
		Target:  "sm_80",
		NoFMA:   true,
	}
	out, err := go2ptx.Compile(cfg)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Contains(string(out.PTX), ".target sm_80"), strings.Contains(string(out.PTX), "fma.rn"))

	// Output: true false
}

// Import supplies the packages that kernels import. The packages for kernels are built in and need
// not be supplied.
func ExamplePackage() {
	const kernel = `package example

import (
	"example.org/shapes"

	"github.com/purecuda/cuda/ptx/gpu"
)

//gpu:kernel
func areas(t gpu.Thread, out []float32, radii []float32) { out[t.GlobalX()] = shapes.Circle(radii[t.GlobalX()]) }
`
	shapes := go2ptx.Package{Files: []go2ptx.File{{
		Name: "shapes.go",
		Data: []byte("package shapes\n\nfunc Circle(r float32) float32 { return 3.1415927 * r * r }\n"),
	}}}
	out, err := go2ptx.Compile(go2ptx.Config{
		Package: go2ptx.Package{Path: "example", Files: []go2ptx.File{{Name: "areas.go", Data: []byte(kernel)}}},
		Import: func(path string) (go2ptx.Package, error) {
			if path == "example.org/shapes" {
				return shapes, nil
			}
			return go2ptx.Package{}, errors.New("no such package")
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Kernels[0].Signature)

	// Output: func(t github.com/purecuda/cuda/ptx/gpu.Thread, out []float32, radii []float32)
}

// If the name of the PTX file is given, Compile also generates the launchers.
func ExampleOutput() {
	out, err := go2ptx.Compile(go2ptx.Config{
		Package: go2ptx.Package{Path: "example", Files: []go2ptx.File{{Name: "scale.go", Data: []byte(scale)}}},
		PTXFile: "example_gpu.ptx",
	})
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(out.Go)) {
		if strings.HasPrefix(line, "func ScaleIn") || strings.HasPrefix(line, "//go:embed") {
			fmt.Print(line)
		}
	}

	// Output:
	// //go:embed example_gpu.ptx
	// func ScaleIn(c *driver.Context) (Scale, error) {
}

// Kernel combines information from the directive, the source and the generated code.
func ExampleKernel() {
	out, err := go2ptx.Compile(go2ptx.Config{
		Package: go2ptx.Package{Path: "example", Files: []go2ptx.File{{Name: "scale.go", Data: []byte(scale)}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, k := range out.Kernels {
		fmt.Printf("%v: %s has %d checks and %d bytes of shared memory\n", k.Pos, k.Func, k.Checks, k.Shared)
	}

	// Output: scale.go:6:1: scale has 0 checks and 0 bytes of shared memory
}

func ExampleRemark() {
	out, err := go2ptx.Compile(go2ptx.Config{
		Package: go2ptx.Package{Path: "example", Files: []go2ptx.File{{Name: "scale.go", Data: []byte(scale)}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	r := out.Remarks[len(out.Remarks)-1]
	fmt.Printf("line %d: %s\n", r.Pos.Line, r.Text)

	// Output: line 8: example.scale: multiplication and addition fused
}

// Compile reports all errors, each with its position.
func ExampleErrors() {
	text := strings.Replace(scale, "x[i]*k + 1", "map[int]float32{}[i]\n\t\tx = append(x, k)", 1)
	_, err := go2ptx.Compile(go2ptx.Config{
		Package: go2ptx.Package{Path: "example", Files: []go2ptx.File{{Name: "scale.go", Data: []byte(text)}}},
	})
	var list go2ptx.Errors
	if errors.As(err, &list) {
		for _, e := range list {
			fmt.Println(e)
		}
	}

	// Output:
	// scale.go:8:10: maps are not available in kernels: use slices with sorted keys, or an array
	// scale.go:9:7: append may need to allocate memory: write to an index of a slice or array with enough elements
}

// The hash changes if code that the kernels use changes. A comment has no effect on it.
func ExampleHash() {
	hash := func(text string) string {
		h, err := go2ptx.Hash(go2ptx.Config{
			Package: go2ptx.Package{Path: "example", Files: []go2ptx.File{{Name: "scale.go", Data: []byte(text)}}},
		})
		if err != nil {
			log.Fatal(err)
		}
		return h
	}
	fmt.Println(hash(scale) == hash(scale+"\n// host code follows\n"), hash(scale) == hash(strings.Replace(scale, "+ 1", "+ 2", 1)))

	// Output: true false
}
