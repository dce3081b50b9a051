package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module writes a module that has files for particular systems, for a build tag and for
// tests.
func module(t *testing.T, change map[string]string) string {
	t.Helper()
	files := map[string]string{
		"go.mod":         "module example.com/m\n\ngo 1.25\n",
		"all.go":         "package m\n\nfunc Size() int { return size }\n\nfunc id[T any](x T) T { return x }\n",
		"m_windows.go":   "package m\n\nimport \"syscall\"\n\nvar size = int(syscall.Handle(0))\n",
		"m_other.go":     "//go:build !windows\n\npackage m\n\nvar size = id(1)\n",
		"tagged.go":      "//go:build tagged\n\npackage m\n\nvar tagged int = Size()\n",
		"m_test.go":      "package m\n\nvar forTests = Size()\n",
		"x_test.go":      "package m_test\n\nimport \"example.com/m\"\n\nvar _ = m.Size() + m.Wide\n",
		"wide_amd64.go":  "package m\n\nconst Wide = 64\n",
		"export_test.go": "package m\n\nconst ForTest = 1\n",
	}
	for name, text := range change {
		files[name] = text
	}
	dir := t.TempDir()
	delete(files, "")
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWhatOnlyATargetHasIsChecked(t *testing.T) {
	files := NewFiles()
	for _, c := range []struct{ file, text, target, other, want string }{
		{"", "", "windows/amd64", "linux/amd64", ""},
		{"m_windows.go", "package m\n\nvar size = \"\"\n", "windows/amd64", "linux/amd64/tagged", "cannot use size"},
		{"m_other.go", "//go:build !windows\n\npackage m\n\nvar size = id(1) + none\n", "linux/amd64", "windows/amd64", "undefined: none"},
		{"tagged.go", "//go:build tagged\n\npackage m\n\nvar tagged string = Size()\n", "linux/amd64/tagged", "linux/amd64", "cannot use Size()"},
		{"m_windows_test.go", "package m\n\nfunc f() { unused := 1 }\n", "windows/amd64", "linux/amd64", "declared and not used: unused"},
		{"wide_amd64.go", "package m\n\nconst Wide = 64\n", "linux/arm64", "linux/amd64", "undefined: m.Wide"},
		{"x_test.go", "package m_test\n\nimport \"example.com/m\"\n\nvar _ = m.ForTest\n", "", "windows/amd64", ""},
	} {
		dir := module(t, map[string]string{c.file: c.text})
		for _, name := range []string{c.target, c.other} {
			if name == "" {
				continue
			}
			target, err := ParseTarget(name)
			if err != nil {
				t.Fatal(err)
			}
			all, err := files.Everything(target, dir)
			switch {
			case name == c.target && c.want != "":
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name) {
					t.Errorf("%s with %s: %v, want %q", name, c.file, err, c.want)
				}
			case err != nil:
				t.Errorf("%s with %s: %v", name, c.file, err)
			case len(all) < 3: // the package, its variant with tests, and its external test package
				t.Errorf("%s with %s: only %v", name, c.file, all)
			}
		}
	}
}

func TestDeclarationsAreCheckedWithoutBodies(t *testing.T) {
	dir := module(t, map[string]string{"x_test.go": "package m_test\n\nvar x int = \"\"\n", "body.go": "package m\n\nfunc f() int { return \"\" }\n"})
	all, err := NewFiles().Declarations(Target{OS: "linux", Arch: "amd64"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].Module != "example.com/m" || all[0].Types.Scope().Lookup("Wide") == nil {
		t.Errorf("packages %v", all)
	}
	if _, err := NewFiles().Everything(Target{OS: "linux", Arch: "amd64"}, dir); err == nil {
		t.Error("with bodies and tests it has no errors")
	}
}

func TestCodeIsCheckedWithoutTests(t *testing.T) {
	target := Target{OS: "linux", Arch: "386"}
	dir := module(t, map[string]string{"wide_386.go": "package m\n\nconst Wide = 32\n", "x_test.go": "package m\n\nvar x int = 1 << 31\n"})
	all, err := NewFiles().Code(target, dir)
	if err != nil || len(all) != 1 {
		t.Errorf("packages %v, %v", all, err)
	}
	if _, err := NewFiles().Everything(target, dir); err == nil {
		t.Error("with tests it has no errors")
	}
	dir = module(t, map[string]string{"wide_386.go": "package m\n\nconst Wide = 32\n\nfunc f() int { return 1 << 31 }\n"})
	if _, err := NewFiles().Code(target, dir); err == nil || !strings.Contains(err.Error(), "overflows") && !strings.Contains(err.Error(), "cannot use 1 << 31") {
		t.Errorf("too large a constant: %v", err)
	}
}

func TestATargetHasASystemAndAnArchitecture(t *testing.T) {
	for _, name := range []string{"", "linux", "/amd64", "linux/"} {
		if target, err := ParseTarget(name); err == nil {
			t.Errorf("%q is %v", name, target)
		}
	}
	if target, err := ParseTarget("linux/amd64/a,b"); err != nil || target.String() != "linux/amd64/a,b" || target.Tags != "a,b" {
		t.Errorf("%+v, %v", target, err)
	}
	if _, err := NewFiles().Declarations(Target{OS: "linux", Arch: "none"}, "."); err == nil {
		t.Error("there is an architecture none")
	}
}
