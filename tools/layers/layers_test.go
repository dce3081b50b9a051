package layers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/purecuda/cuda/"

// A layer is a package and the packages that it may depend on, directly or indirectly. A path that
// ends in a slash stands for all packages below it, and "all" stands for every package. The first
// layer that matches a package applies.
type layer struct {
	path  string
	may   []string // packages that the package may depend on, not counting its tests
	tests []string // additional packages that its tests may depend on
}

var layers = []layer{
	{"loader", nil, nil},
	{"driver/cu", list(leaves, "loader"), list(nil, "driver/image", "driver/emulator", "driver/emulator/internal/", "ptx", "ptx/isa", "ptx/num")},
	{"driver/trace", list(leaves, "loader", "driver/cu"), all},
	{"driver/image", list(nil, "internal/absent", "internal/zstd", "ptx"), list(nil, "internal/imagetest")},
	{"driver/emulator", list(leaves, "loader", "driver/cu", "driver/image", "driver/emulator/internal/", "ptx", "ptx/isa", "ptx/num"), all},
	{"driver/emulator/internal/jit", list(leaves, "loader", "driver/cu", "driver/image", "driver/emulator/internal/", "ptx", "ptx/isa", "ptx/num"), nil},
	{"driver/emulator/internal/advice", list(leaves, "loader", "driver/cu"), nil},
	{"driver/emulator/internal/order", list(leaves, "driver/emulator/internal/", "ptx", "ptx/num"), nil},
	{"driver/emulator/internal/coredump", list(leaves, "loader", "driver/cu"), nil},
	{"driver/emulator/internal/spec", list(leaves, "loader", "driver/cu"), nil},
	{"driver/emulator/internal/transfer", list(leaves, "loader", "driver/cu", "driver/emulator/internal/", "ptx", "ptx/num"), nil},
	{"driver/emulator/internal/budget", list(leaves, "loader", "driver/cu"), nil},
	{"driver/emulator/internal/callback", nil, nil},
	{"driver/emulator/internal/clock", nil, nil},
	{"driver/emulator/internal/lacking", nil, nil},
	{"driver/emulator/internal/launch", list(leaves, "loader", "driver/cu", "driver/emulator/internal/", "ptx", "ptx/num"), nil},
	{"driver/emulator/internal/lazymem", nil, list(leaves, "driver/emulator/internal/vm", "ptx", "ptx/num")},
	{"driver/emulator/internal/vm", list(leaves, "driver/emulator/internal/lazymem", "ptx", "ptx/num"), list(nil, "ptx/isa")},
	{"driver/anywhere", list(typed, "driver/emulator", "driver/emulator/internal/", "ptx/isa", "ptx/num"), all},
	{"driver/cudatest", list(typed, "driver/trace", "driver/emulator", "driver/emulator/internal/", "ptx/isa", "ptx/num"), all},
	{"driver", list(list(leaves, shared...), "loader", "driver/cu", "driver/image", "ptx"), all},

	{strings.TrimSuffix(module, "/"), typed, nil}, // the module's root package

	{"graph/internal/graphtest", all, all},
	{"graph/internal/access", typed, all},
	{"graph/internal/captures", list(typed, "graph/internal/refusal"), all},
	{"graph/internal/devicecode", typed, all},
	{"graph/internal/inflight", list(typed, "graph/internal/captures", "graph/internal/refusal", "graph/internal/retain"), all},
	{"graph/internal/refusal", typed, all},
	{"graph/internal/retain", list(typed, "graph/internal/refusal"), all},
	{"graph/internal/ring", list(typed, "graph/internal/refusal"), all},
	{"graph/internal/turn", list(typed, "graph/internal/captures", "graph/internal/inflight", "graph/internal/refusal",
		"graph/internal/retain"), all},
	{"graph/arena", ofGraph, all},
	{"graph/cache", ofGraph, all},
	{"graph/callable", list(ofGraph, "graph/arena", "graph/counter"), all},
	{"graph/counter", list(typed, "graph/internal/devicecode", "graph/internal/refusal"), all},
	{"graph/dataflow", ofGraph, all},
	{"graph/serve", list(ofGraph, "graph/arena", "graph/callable", "graph/counter"), all},
	{"graph/view", list(ofGraph, "graph/arena"), all},
	{"graph", ofGraph, all},

	{"ptx", nil, list(typed, "internal/ptxtest")},
	{"ptx/num", nil, nil},
	{"ptx/gpu", list(nil, "ptx/num", "internal/softfloat"), all},
	{"ptx/isa", list(nil, "ptx"), list(leaves, "internal/ptxtest")},
	{"ptx/build", list(nil, "ptx", "ptx/isa", "ptx/num"), all},
	{"ptx/gpu/math", nil, all},
	{"ptx/gpu/math32", list(nil, "ptx/num", "ptx/gpu", "internal/softfloat"), all},
	{"ptx/go2ptx", list(nil, "internal/softfloat", "ptx", "ptx/isa", "ptx/num", "ptx/build", "ptx/gpu", "ptx/gpu/", "ptx/internal/launcher", "ptx/go2ptx/internal/"), all},
	{"ptx/go2ptx/internal/ir", list(nil, "ptx/num"), all},
	{"ptx/go2ptx/internal/irtest", list(nil, "ptx/num", "ptx/go2ptx/internal/ir"), all},
	{"ptx/go2ptx/internal/example", list(typed, "ptx/num", "internal/softfloat", "ptx/gpu", "ptx/gpu/math"), all},
	{"ptx/go2ptx/internal/source", nil, all},
	{"ptx/go2ptx/internal/launch", list(nil, "ptx/internal/launcher", "ptx/go2ptx/internal/source"), all},
	{"ptx/go2ptx/internal/lower", list(nil, "ptx/num", "ptx/go2ptx/internal/ir", "ptx/go2ptx/internal/source"), all},
	{"ptx/go2ptx/internal/opt", list(nil, "ptx/num", "ptx/go2ptx/internal/ir"), all},
	{"ptx/go2ptx/internal/emit", list(nil, "ptx", "ptx/isa", "ptx/num", "ptx/build", "ptx/go2ptx/internal/ir"), all},
	{"ptx/nvrtc", list(leaves, "loader"), all},
	{"ptx/kernels", list(ofGraph, "ptx/num", "internal/softfloat", "ptx/gpu", "ptx/gpu/", "ptx/kernels/internal", "ptx/kernels/internal/"), all},
	{"ptx/kernels/fused", list(ofGraph, "ptx/num", "internal/softfloat", "ptx/gpu", "ptx/gpu/", "ptx/isa", "ptx/build", "ptx/kernels", "ptx/kernels/internal", "ptx/kernels/internal/"), all},
	{"ptx/kernels/internal", nil, all},
	{"ptx/kernels/internal/kit", all, all}, // for tests
	{"internal/clock", all, all},           // for benchmarks
	{"ptx/kernels/internal/", list(typed, "ptx/num", "internal/softfloat", "ptx/gpu", "ptx/gpu/", "ptx/kernels/internal/"), all},
	{"ptx/ptx2go", list(leaves, "loader", "ptx", "ptx/internal/launcher", "ptx/nvrtc", "ptx/ptx2go/"), all},
	{"ptx/ptx2go/", list(leaves, "loader", "ptx", "ptx/internal/launcher", "ptx/nvrtc"), all},
	{"ptx/internal/launcher", nil, all},
	{"ptx/cmd/go2ptx", list(typed, "internal/softfloat", "ptx", "ptx/isa", "ptx/num", "ptx/build", "ptx/gpu", "ptx/gpu/", "ptx/internal/launcher", "ptx/go2ptx", "ptx/go2ptx/internal/"), all},
	{"ptx/cmd/", list(nil, "ptx", "ptx/isa"), all},

	{"internal/absent", nil, nil},
	{"internal/hostcall", list(leaves, "loader", "driver/cu", "internal/hostthread", "internal/kernelfault", "internal/life"), all},
	{"internal/kernelfault", list(leaves, "loader", "driver/cu"), all},
	{"internal/life", list(leaves, "loader", "driver/cu", "internal/hostthread", "internal/kernelfault"), all},
	{"internal/hostthread", list(leaves, "loader", "driver/cu"), all},
	{"internal/elem", list(leaves, "loader", "driver/cu"), all},
	{"internal/uses", list(leaves, "loader", "driver/cu", "internal/hostthread", "internal/kernelfault", "internal/life"), all},
	{"internal/launch", list(leaves, "loader", "driver/cu", "internal/hostthread", "internal/kernelfault", "internal/life"), all},
	{"internal/hint", nil, nil},
	{"internal/softfloat", nil, nil},
	{"internal/zstd", nil, nil},
	{"internal/faulty", list(nil, "loader"), nil},
	{"internal/", all, all}, // packages for tests
	{"examples/", all, all},
}

var (
	all = []string{"all"}
	// leaves lists packages that any package may import. They import no other package of the
	// module.
	leaves = []string{"internal/absent", "internal/hint", "internal/softfloat", "internal/zstd"}
	// typed is package driver and its dependencies.
	typed = list(list(leaves, shared...), "loader", "driver/cu", "driver/image", "driver", "ptx")
	// ofGraph is package graph and its dependencies.
	ofGraph = list(typed, "graph", "graph/internal/access", "graph/internal/captures", "graph/internal/devicecode", "graph/internal/inflight",
		"graph/internal/refusal", "graph/internal/retain", "graph/internal/ring",
		"graph/internal/turn")
	// shared lists the packages that define types for both package driver and packages built on it.
	shared = []string{"internal/elem", "internal/hostcall", "internal/hostthread", "internal/kernelfault", "internal/launch", "internal/life", "internal/uses"}
)

func list(first []string, more ...string) []string { return slices.Concat(first, more) }

// native lists the packages, by path prefix, through which a package can call C.
var native = []string{"github.com/ebitengine/purego", "golang.org/x/sys"}

// builds lists the environments and build tags for which dependencies are checked.
var builds = map[string]struct {
	env  []string
	tags string
}{
	"linux":          {[]string{"GOOS=linux", "GOARCH=amd64"}, ""},
	"linux, static":  {[]string{"GOOS=linux", "GOARCH=amd64"}, "static"},
	"linux, syscall": {[]string{"GOOS=linux", "GOARCH=arm64"}, "purecuda_syscall"},
	"linux, nvidia":  {[]string{"GOOS=linux", "GOARCH=amd64"}, "nvidia"},
	"windows":        {[]string{"GOOS=windows", "GOARCH=amd64"}, ""},
	"darwin":         {[]string{"GOOS=darwin", "GOARCH=arm64"}, ""},
	"wasip1":         {[]string{"GOOS=wasip1", "GOARCH=wasm"}, ""},
}

type pkg struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
	Deps                               []string
}

func TestPackagesImportOnlyTheLayersBelow(t *testing.T) {
	for name, b := range builds {
		t.Run(name, func(t *testing.T) {
			for _, fault := range faults(packages(t, b.tags, b.env)) {
				t.Error(fault)
			}
		})
	}
}

func packages(t *testing.T, tags string, env []string) map[string]*pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-tags", tags, "-json=ImportPath,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Dir = "../.."
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off"), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, &stderr)
	}
	all := make(map[string]*pkg)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(pkg)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
	if len(all) < 40 {
		t.Fatalf("only %d packages are listed", len(all))
	}
	return all
}

// faults returns a message for each forbidden dependency and for each package without a layer.
func faults(all map[string]*pkg) (found []string) {
	for _, path := range slices.Sorted(maps.Keys(all)) {
		p := all[path]
		own := strings.TrimPrefix(path, module)
		l, ok := layerOf(own)
		if !ok {
			found = append(found, own+" is of no layer: give it one")
			continue
		}
		for _, dep := range p.Deps {
			if !allowed(dep, own, l.may) {
				found = append(found, fmt.Sprintf("%s depends on %s", own, strings.TrimPrefix(dep, module)))
			}
		}
		for _, dep := range p.testDeps(all) {
			if !allowed(dep, own, l.may) && !allowed(dep, own, l.tests) {
				found = append(found, fmt.Sprintf("the tests of %s depend on %s", own, strings.TrimPrefix(dep, module)))
			}
		}
		for _, i := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if isNative(i) && own != "loader" {
				found = append(found, own+" imports "+i+": only loader does")
			}
		}
	}
	return found
}

func (p *pkg) testDeps(all map[string]*pkg) []string {
	deps := make(map[string]bool)
	for _, i := range slices.Concat(p.TestImports, p.XTestImports) {
		deps[i] = true
		if of := all[i]; of != nil {
			for _, d := range of.Deps {
				deps[d] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(deps))
}

func layerOf(path string) (layer, bool) {
	for _, l := range layers {
		if matches(path, l.path) {
			return l, true
		}
	}
	return layer{}, false
}

func matches(path, pattern string) bool {
	return pattern == "all" || path == pattern || strings.HasSuffix(pattern, "/") && strings.HasPrefix(path, pattern)
}

// allowed reports whether a package may depend on dep. It accepts all packages outside this module.
func allowed(dep, own string, may []string) bool {
	path, ok := strings.CutPrefix(dep, module)
	if !ok || path == own {
		return true
	}
	return slices.ContainsFunc(may, func(pattern string) bool { return matches(path, pattern) })
}

func isNative(path string) bool {
	return slices.ContainsFunc(native, func(n string) bool { return path == n || strings.HasPrefix(path, n+"/") })
}

func TestFaultsAreFound(t *testing.T) {
	p := func(path string, imports, tests []string) *pkg {
		return &pkg{ImportPath: module + path, Imports: imports, Deps: imports, XTestImports: tests}
	}
	packages := map[string]*pkg{}
	for _, q := range []*pkg{
		p("driver/cu", []string{module + "loader"}, []string{module + "loader", "testing"}),
		p("driver/emulator", []string{module + "driver"}, []string{module + "graph"}),
		p("driver", []string{module + "driver/cu", "github.com/ebitengine/purego"}, nil),
		p("loader", []string{"golang.org/x/sys/unix"}, []string{module + "driver"}),
		p("ptx/num", nil, []string{module + "driver/trace"}),
		p("somewhere", nil, nil),
	} {
		packages[q.ImportPath] = q
	}
	want := []string{
		"driver imports github.com/ebitengine/purego: only loader does",
		"driver/emulator depends on driver",
		"somewhere is of no layer: give it one",
		"the tests of loader depend on driver",
		"the tests of loader depend on driver/cu",
		"the tests of ptx/num depend on driver/trace",
	}
	got := faults(packages)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("faults\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
