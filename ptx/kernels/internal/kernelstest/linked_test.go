package kernelstest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/kernels"
)

// A program must contain only the PTX files that its operations may need on some device.
func TestProgramsHaveTheTextsTheyUse(t *testing.T) {
	if testing.Short() {
		t.Skip("programs are built for this, some seconds for each: without -short")
	}
	goTool(t)
	for _, p := range []struct {
		uses string
		want []string
	}{
		{"kernels.Fill[float32](nil, 1)", []string{"fill_gpu.ptx"}},
		{"kernels.Add[float32](nil, nil, nil)", []string{"arith_gpu.ptx"}},
		{"kernels.Max[kernels.BF16](nil, nil, nil)", []string{"extreme_gpu.ptx", "extremesm80_gpu.ptx"}},
		{"kernels.Argmax[kernels.BF16](nil, nil, nil)", []string{"extreme_gpu.ptx", "extremesm80_gpu.ptx"}},
		{"kernels.Softmax(kernels.Matrix[kernels.BF16]{}, kernels.Matrix[kernels.BF16]{}, 1)", []string{"softmax_gpu.ptx", "softmaxsm90_gpu.ptx"}},
	} {
		name, _, _ := strings.Cut(p.uses, "(")
		t.Run(name, func(t *testing.T) {
			if got := linked(t, p.uses); !slices.Equal(got, p.want) {
				t.Errorf("the program has %v, want %v", got, p.want)
			}
		})
	}
}

// goTool skips the test if there is no go tool or no source tree, for example if only the test
// binary was copied to the machine. "go test" always adds the go tool to the path.
func goTool(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("go")
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("linked_test.go"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the sources are not here")
	}
}

// linked builds a program that uses one expression. It returns the names of the PTX files
// in the program.
func linked(t *testing.T, uses string) (names []string) {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	text := "package main\n\nimport \"github.com/purecuda/cuda/ptx/kernels\"\n\nfunc main() {\n\t_, err := " + uses + "\n\tprintln(err)\n}\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, out)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files(t) {
		if bytes.Contains(binary, text) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func files(t *testing.T) map[string][]byte {
	t.Helper()
	texts := make(map[string][]byte)
	names, err := fs.Glob(kernels.Texts(), "*/*.ptx")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if texts[path.Base(name)], err = fs.ReadFile(kernels.Texts(), name); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}
