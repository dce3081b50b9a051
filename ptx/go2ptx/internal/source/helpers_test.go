package source

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// gpuFile is a small version of package gpu. Its function bodies can only run on the host.
const gpuFile = `package gpu

import "sync"

type Thread struct{ mu *sync.Mutex }

//gpu:intrinsic
func (t Thread) GlobalX() int { t.mu.Lock(); return 1 }

//gpu:intrinsic
func (t Thread) Sync() { t.mu.Lock() }

func (t Thread) hidden() int { return undefined }

func (t Thread) Twice() int { return 2 * t.GlobalX() }

//gpu:opaque
type Barrier struct{ c *sync.Cond }

//gpu:intrinsic
func (b *Barrier) Wait() { b.c.Wait() }

//gpu:intrinsic
func Shared[T any](t Thread) *T { return new(T) }

type View[T any] struct{ p uintptr; n, c int }
`

// load loads files from text. Each file is written as "name: text", and lines of --- separate the
// files.
func load(t *testing.T, text string, others ...Sources) (*Program, error) {
	t.Helper()
	return Load(config(text, others...))
}

func config(text string, others ...Sources) Config {
	byPath := map[string]Sources{GPUPath: {Path: GPUPath, Files: []File{{"gpu/gpu.go", []byte(gpuFile)}}}}
	for _, s := range others {
		byPath[s.Path] = s
	}
	return Config{Main: sources("example.org/heat", text), Resolve: func(path string) (Sources, error) {
		if s, ok := byPath[path]; ok {
			return s, nil
		}
		return Sources{}, fmt.Errorf("package %s is not in this test", path)
	}}
}

func sources(path, text string) Sources {
	s := Sources{Path: path}
	for i, part := range strings.Split(text, "---\n") {
		name, body, ok := strings.Cut(part, ":\n")
		if !ok || strings.ContainsAny(name, " \n") {
			name, body = fmt.Sprintf("f%d.go", i), part
		}
		s.Files = append(s.Files, File{name, []byte(body)})
	}
	return s
}

func mustLoad(t *testing.T, text string, others ...Sources) *Program {
	t.Helper()
	p, err := load(t, text, others...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// reached lists the names of all reached declarations of a package.
func reached(p *Program, path string) string {
	var names []string
	for _, pkg := range p.Packages {
		if pkg.Path != path {
			continue
		}
		for id, obj := range pkg.Info.Defs {
			if obj == nil || obj.Parent() != nil && obj.Parent() != pkg.Types.Scope() || id.Name == "_" {
				continue
			}
			if fn, ok := p.decls[asFunc(obj)]; ok || obj.Parent() == pkg.Types.Scope() {
				name := id.Name
				if ok && fn.decl.Recv != nil {
					name = receiver(fn.decl) + "." + name
				}
				names = append(names, name)
			}
		}
	}
	sort.Strings(names)
	return strings.Join(names, " ")
}

// want checks for exactly the given errors. A line has the form "file:line:col: message", where
// message may be a prefix of the actual message.
func want(t *testing.T, err error, lines ...string) {
	t.Helper()
	var list Errors
	if !errors.As(err, &list) {
		t.Fatalf("error is %v, not a list", err)
	}
	if len(list) != len(lines) {
		t.Fatalf("%d errors, want %d:\n%v", len(list), len(lines), err)
	}
	for i, e := range list {
		if !strings.HasPrefix(e.Error(), lines[i]) {
			t.Errorf("error %d is\n\t%v\nwant\n\t%s", i, e, lines[i])
		}
	}
}

// goroot returns a resolver that reads packages from the Go distribution.
func goroot(t *testing.T) func(string) (Sources, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("there is no go command here")
	}
	root := strings.TrimSpace(string(out))
	if _, err := os.Stat(filepath.Join(root, "src", "math")); err != nil {
		t.Skip("the Go distribution has no source here")
	}
	return func(path string) (Sources, error) {
		dir := filepath.Join(root, "src", filepath.FromSlash(path))
		s := Sources{Path: path}
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				return s, err
			}
			s.Files = append(s.Files, File{path + "/" + filepath.Base(name), data})
		}
		return s, err
	}
}
