package randgo

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// The same seed must result in the same kernel, and each kernel must be valid Go.
func TestKernelsCompileAsGo(t *testing.T) {
	if err := Usable(); err != nil {
		t.Skip(err)
	}
	var kernels []*Kernel
	uses := map[string]int{}
	faults, converges := 0, 0
	for i := range 400 {
		k := New(fmt.Sprintf("k%d", i), uint64(i))
		if k.Text != New(k.Name, uint64(i)).Text {
			t.Fatalf("seed %d gave two texts", i)
		}
		for u, n := range k.Uses {
			uses[u] += n
		}
		if k.Faults {
			faults++
		}
		if k.Converges {
			converges++
		}
		kernels = append(kernels, k)
	}
	if faults < 20 || converges < 120 || len(uses) < 60 {
		t.Errorf("%d can fault, %d converge, %d constructs", faults, converges, len(uses))
	}
	text := File("p", kernels)
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "k.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil), Error: func(err error) {
		if n++; n < 20 {
			t.Error(err)
		}
	}}
	conf.Check("p", fset, []*ast.File{f}, nil)
	if t.Failed() {
		t.Log(len(text))
	}
}

// The kernels must run in Go and, for the same data, must always have the same results.
func TestHost(t *testing.T) {
	if err := Usable(); err != nil {
		t.Skip(err)
	}
	var kernels []*Kernel
	for i := range 100 {
		kernels = append(kernels, New(fmt.Sprintf("k%d", i), uint64(i)))
	}
	// A helper of this kernel took too long a part of a slice of one element.
	kernels = append(kernels, New("k98002758", 98002758))
	a, err := Host("../../../../..", kernels, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Host("../../../../..", kernels, 1)
	if err != nil {
		t.Fatal(err)
	}
	faults := 0
	for i := range a {
		if a[i].Fault != b[i].Fault || string(a[i].Outputs) != string(b[i].Outputs) {
			t.Errorf("kernel %d gave two results: %q %q", i, a[i].Fault, b[i].Fault)
		}
		if a[i].Fault != "" {
			faults++
			t.Log(i, a[i].Fault)
			if !kernels[i].Faults {
				t.Errorf("kernel %d should not fault: %s\n%s", i, a[i].Fault, kernels[i].Text)
			}
		}
	}
	if faults == 0 {
		t.Error("no kernel faulted")
	}
}
