package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/gputest"
)

const text = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n\tret;\n}\n"

// The test binary also acts as nvcc. The tests can then check its arguments on machines
// without nvcc.
func TestMain(m *testing.M) {
	if out := os.Getenv("PTX2GO_FAKE_NVCC"); out != "" {
		os.Exit(fakeNVCC(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func fakeNVCC(args []string) int {
	source, err := os.ReadFile(args[len(args)-1])
	if err != nil || bytes.Contains(source, []byte("wrong")) {
		os.Stderr.WriteString(filepath.Base(args[len(args)-1]) + "(1): error: this is wrong\n")
		return 2
	}
	for i, a := range args {
		if a == "-o" {
			comment := "// " + strings.Join(append(args[:i:i], args[i+2:len(args)-1]...), " ") + "\n"
			if os.WriteFile(args[i+1], []byte(comment+text), 0o666) != nil {
				return 3
			}
		}
	}
	return 0
}

// in returns a function that runs the command in a directory with the given files.
func in(t *testing.T, files map[string]string) func(args ...string) (status int, out, errs string) {
	t.Helper()
	dir := gputest.TempDir(t)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOPACKAGE", "p")
	t.Setenv("NVCC", "")
	return func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		status := run(args, &out, &errs)
		return status, out.String(), errs.String()
	}
}

func TestFilesAreWrittenOnceAndChecked(t *testing.T) {
	ptx2go := in(t, map[string]string{"a.ptx": text, "b.ptx": strings.ReplaceAll(text, "k(", "l(")})
	if status, _, errs := ptx2go("-check", "*.ptx"); status != 1 || !strings.Contains(errs, "a_ptx.go, b_ptx.go, kernels_set_ptx.go") {
		t.Errorf("-check of nothing: %d %s", status, errs)
	}
	if status, out, errs := ptx2go("*.ptx"); status != 0 || out != "a_ptx.go\nb_ptx.go\nkernels_set_ptx.go\n" || errs != "" {
		t.Errorf("%d %s%s", status, out, errs)
	}
	if status, out, errs := ptx2go("b.ptx", "a.ptx"); status != 0 || out != "" || errs != "" {
		t.Errorf("again: %d %s%s", status, out, errs)
	}
	if status, out, errs := ptx2go("-check", "*.ptx"); status != 0 || out != "" || errs != "" {
		t.Errorf("-check: %d %s%s", status, out, errs)
	}
	if status, out, _ := ptx2go("-q", "-prefix", "My", "*.ptx"); status != 0 || out != "" {
		t.Errorf("-q: %d %s", status, out)
	}
	if status, _, errs := ptx2go("-check", "*.ptx"); status != 1 || !strings.Contains(errs, "run ptx2go again without -check") {
		t.Errorf("-check of something else: %d %s", status, errs)
	}
}

func TestFlagsThatMakeNoSenseAreExplained(t *testing.T) {
	ptx2go := in(t, map[string]string{"a.ptx": text})
	for want, args := range map[string][]string{
		"name at least one .ptx or .cu file": {},
		"b*.ptx: no such file":               {"b*.ptx"},
		"-name k: write kernel=Name":         {"-name", "k", "a.ptx"},
		"-only: error parsing regexp":        {"-only", "(", "a.ptx"},
		"-skip: error parsing regexp":        {"-skip", "(", "a.ptx"},
		`-types "k": write`:                  {"-types", "k", "a.ptx"},
		`"big" is not the size of a block`:   {"-block", "big", "a.ptx"},
		"flag provided but not defined":      {"-pgk", "x", "a.ptx"},
		"-pkg a-b: not a package name":       {"-pkg", "a-b", "a.ptx"},
		"-set a-b: not a Go name":            {"-set", "a-b", "a.ptx"},
		"-tags linux &&":                     {"-tags", "linux &&", "a.ptx"},
		`-forms: "doo" is not one of`:        {"-forms", "op,doo", "a.ptx"},
		"no kernel nine":                     {"-name", "nine=Nine", "a.ptx"},
		"no kernel ten":                      {"-types", "ten: n uint32", "a.ptx"},
	} {
		status, _, errs := ptx2go(args...)
		if status == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: %d %q does not say %q", args, status, errs, want)
		}
	}
	t.Setenv("GOPACKAGE", "")
	if status, _, errs := ptx2go("a.ptx"); status != 2 || !strings.Contains(errs, "give -pkg") {
		t.Errorf("no package: %d %s", status, errs)
	}
	if status, _, errs := ptx2go("-h"); status != 0 || !strings.Contains(errs, "usage: ptx2go") {
		t.Errorf("-h: %d %s", status, errs)
	}
}

func TestSourcesAreCompiled(t *testing.T) {
	ptx2go := in(t, map[string]string{"a.cu": "extern \"C\" __global__ void k(int n);\n", "b.cu": "wrong", "c.ptx": strings.ReplaceAll(text, "k(", "l(")})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PTX2GO_FAKE_NVCC", "1")
	if status, _, errs := ptx2go("-nvcc", self, "-arch", "sm_80", "-nvccflags", "-O1  -g", "a.cu", "c.ptx"); status != 0 {
		t.Fatalf("%d %s", status, errs)
	}
	made, _ := os.ReadFile("a.ptx")
	if want := "// -ptx -arch=compute_80 -O1 -g\n"; !strings.HasPrefix(string(made), want) {
		t.Errorf("nvcc was run so: %.60s, want %s", made, want)
	}
	if made, _ := os.ReadFile("a_ptx.go"); !bytes.Contains(made, []byte("n int32")) {
		t.Errorf("the source was not read:\n%s", made)
	}
	if status, _, errs := ptx2go("-nvcc", self, "b.cu"); status != 1 || !strings.Contains(errs, "b.cu(1): error: this is wrong") {
		t.Errorf("an error of the compiler: %d %s", status, errs)
	}
	if status, _, errs := ptx2go("-nvcc", self, "a.cu", "a.ptx"); status != 1 || !strings.Contains(errs, "both would become a_ptx.go") {
		t.Errorf("the source and what was made of it: %d %s", status, errs)
	}
	if status, _, errs := ptx2go("-nvcc", "no-such-nvcc", "a.cu"); status != 1 || !strings.Contains(errs, "a.cu: nvcc was not found (no-such-nvcc)") {
		t.Errorf("no nvcc: %d %s", status, errs)
	}
}

func TestTextsThatCannotBeEmbeddedAreRefused(t *testing.T) {
	ptx2go := in(t, map[string]string{"a.ptx": text, "b[c.ptx": text})
	if err := os.Mkdir("out", 0o777); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := ptx2go("-o", "out", "a.ptx"); status != 1 || !strings.Contains(errs, "a.ptx: go:embed reaches only files below out") {
		t.Errorf("%d %s", status, errs)
	}
	if runtime.GOOS != "windows" {
		if status, _, errs := ptx2go(`b\[c.ptx`); status != 1 || !strings.Contains(errs, "go:embed does not accept a name") {
			t.Errorf("%d %s", status, errs)
		}
	}
}
