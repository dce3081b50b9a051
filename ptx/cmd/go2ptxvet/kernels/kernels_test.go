package kernels_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const good = `package heat

import "github.com/purecuda/cuda/ptx/gpu"

//gpu:kernel block=64
func fill(t gpu.Thread, x []int32, v int32) {
	if i := t.GlobalX(); i < len(x) {
		x[i] = v
	}
}
`

// refused contains code with compiler errors: in a statement, in a call of the Go distribution, in a
// directive, and at a barrier.
var refused = map[string]string{
	"go":      strings.Replace(good, "x[i] = v", "x[i] = v; go helper()", 1) + "\nfunc helper() {}\n",
	"fmt":     strings.NewReplacer("import \"github", "import \"fmt\"\nimport \"github", "x[i] = v", "fmt.Println(v)").Replace(good),
	"map":     strings.Replace(good, "x[i] = v", "m := map[int]int{}; _ = m", 1),
	"option":  strings.Replace(good, "block=64", "block=64 speed=2", 1),
	"barrier": strings.Replace(good, "if i := t.GlobalX(); i < len(x) {", "if t.ThreadX() == 0 { t.Sync() }\n\tif i := t.GlobalX(); i < len(x) {", 1),
	"result":  strings.NewReplacer("v int32) {", "v int32) (err error) {", "\t}\n}", "\t}\n\treturn\n}").Replace(good),
}

// in runs a command in a directory and returns its output.
func in(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), err
}

func must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := in(t, dir, name, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// module creates a module that uses the library in the given directory. It returns the module's
// directory and the checker.
func module(t *testing.T, library string) (dir, tool string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it compiles programs")
	}
	root := t.TempDir()
	tool, dir = filepath.Join(root, "go2ptxvet"), filepath.Join(root, "heat")
	must(t, "..", "go", "build", "-mod=readonly", "-o", tool, ".")
	write(t, filepath.Join(dir, "go.mod"), fmt.Sprintf("module example.org/heat\n\ngo 1.25.0\n\nrequire github.com/purecuda/cuda v0.0.0\n\nreplace github.com/purecuda/cuda => %s\n", library))
	write(t, filepath.Join(dir, "heat.go"), good)
	write(t, filepath.Join(dir, "other", "other.go"), "package other\n\nfunc F() {}\n")
	return dir, tool
}

var place = regexp.MustCompile(`(?m)^(?:vet: )?\S*?(heat\.go:\d+:\d+: .*)$`)

// reports returns the lines of an output that contain a position.
func reports(out string) string {
	var list []string
	for _, m := range place.FindAllStringSubmatch(out, -1) {
		list = append(list, m[1])
	}
	return strings.Join(list, "\n")
}

// Go vet must report the same errors as go2ptx, at the same positions.
func TestVetReportsWhatGo2ptxReports(t *testing.T) {
	library, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, tool := module(t, library)
	must(t, dir, "go", "run", "github.com/purecuda/cuda/ptx/cmd/go2ptx")
	if out, err := in(t, dir, "go", "vet", "-vettool="+tool, "./..."); err != nil {
		t.Errorf("files that are up to date: %v\n%s", err, out)
	}
	write(t, filepath.Join(dir, "heat.go"), strings.Replace(good, "= v", "= v + 1", 1))
	out, err := in(t, dir, "go", "vet", "-vettool="+tool, "./...")
	if err == nil || !strings.Contains(reports(out), "heat.go:6:6: heat_gpu.ptx is not up to date: run go generate") || !strings.Contains(out, "heat_gpu.go is not up to date") {
		t.Errorf("stale files: %v\n%s", err, out)
	}
	for name, text := range refused {
		write(t, filepath.Join(dir, "heat.go"), text)
		want, err := in(t, dir, "go", "run", "github.com/purecuda/cuda/ptx/cmd/go2ptx")
		if err == nil {
			t.Fatalf("%s: go2ptx compiles it", name)
		}
		got, err := in(t, dir, "go", "vet", "-vettool="+tool, "./...")
		if err == nil || reports(got) != reports(want) || reports(want) == "" {
			t.Errorf("%s: vet: %v\n%s\nwant\n%s", name, err, got, want)
		}
	}
}

// If the library's go2ptx does not support -json or has another format, there must be a single
// report at the kernel.
func TestVetWithOtherVersions(t *testing.T) {
	for print, want := range map[string]string{
		`println("flag provided but not defined: -json"); os.Exit(2)`: "heat.go:6:6: the kernels cannot be checked: the version of github.com/purecuda/cuda in go.mod is too old for go2ptxvet",
		`os.Stdout.WriteString("{\"Format\":2}")`:                     "heat.go:6:6: the kernels cannot be checked: go2ptx has output of format 2 and this is for format 1: install the latest go2ptxvet",
	} {
		library := t.TempDir()
		write(t, filepath.Join(library, "go.mod"), "module github.com/purecuda/cuda\n\ngo 1.25.0\n")
		write(t, filepath.Join(library, "ptx", "gpu", "gpu.go"), "package gpu\n\ntype Thread struct{}\n\nfunc (Thread) GlobalX() int { return 0 }\n")
		write(t, filepath.Join(library, "ptx", "cmd", "go2ptx", "main.go"), "package main\n\nimport \"os\"\n\nfunc main() { "+print+" }\n")
		dir, tool := module(t, library)
		out, err := in(t, dir, "go", "vet", "-vettool="+tool, "./...")
		if err == nil || reports(out) != want {
			t.Errorf("%s: %v\n%s", print, err, out)
		}
	}
}
