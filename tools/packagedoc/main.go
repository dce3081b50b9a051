// Command packagedoc writes docs/internals/packages.md, with the packages of the library and
// their imports as a diagram and a table.
//
//	go run -C tools ./packagedoc -root ..
//
// With -check it writes nothing and fails if the file would change.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/purecuda/cuda/tools/internal/doc"
)

const (
	output = "docs/internals/packages.md"
	module = "github.com/purecuda/cuda/"
)

func main() { doc.Main("packagedoc", run) }

func run(root string, check bool) error {
	all, err := list(root)
	if err != nil {
		return err
	}
	return doc.Write(filepath.Join(root, output), []byte(markdown(all)), check, "make docs")
}

// pkg is a package of the library. Its path is relative to the module.
type pkg struct {
	path, about string
	imports     []string // imported packages of the library, sorted
}

// list returns the packages that programs can import, and the packages that these import. It
// omits commands, examples and packages that only tests use.
func list(root string) (map[string]pkg, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Imports,Name", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("go list: %w", err)
	}
	known, wanted := map[string]pkg{}, []string(nil)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Doc, Name string
			Imports               []string
		}
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		path, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || p.Name == "main" {
			continue
		}
		of := pkg{path: path, about: p.Doc}
		for _, i := range p.Imports {
			if i, ours := strings.CutPrefix(i, module); ours {
				of.imports = append(of.imports, i)
			}
		}
		slices.Sort(of.imports)
		known[path] = of
		if !internal(path) && !strings.HasPrefix(path, "examples/") {
			wanted = append(wanted, path)
		}
	}
	packages := map[string]pkg{}
	for len(wanted) > 0 {
		path := wanted[0]
		wanted = wanted[1:]
		if _, done := packages[path]; !done {
			packages[path] = known[path]
			wanted = append(wanted, known[path].imports...)
		}
	}
	return packages, nil
}

func internal(path string) bool {
	return slices.Contains(strings.Split(path, "/"), "internal")
}

func markdown(all map[string]pkg) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Packages

This page is for those who change the library. %[1]spackagedoc%[1]s (%[1]smake docs%[1]s) generates it from the
source code. In the diagram, each arrow points from a package to one that it imports. Imports already implied by a chain
of arrows are omitted from the diagram, but the table lists all imports. Dashed boxes are internal packages. A test in
[tools/layers](../../tools/layers) checks that only permitted imports exist.

%[1]s%[1]s%[1]smermaid
graph TD
`, "`")
	paths := slices.Sorted(maps.Keys(all))
	for _, p := range paths {
		fmt.Fprintf(&b, "    %s[\"%s\"]\n", id(p), p)
	}
	for _, p := range paths {
		for _, i := range all[p].imports {
			if !indirectly(all, p, i) {
				fmt.Fprintf(&b, "    %s --> %s\n", id(p), id(i))
			}
		}
	}
	b.WriteString("    classDef internal stroke-dasharray: 4 3\n")
	for _, p := range paths {
		if internal(p) {
			fmt.Fprintf(&b, "    class %s internal\n", id(p))
		}
	}
	b.WriteString("```\n\n| package | description | imports |\n|---|---|---|\n")
	for _, p := range paths {
		fmt.Fprintf(&b, "| [`%s`](../../%[1]s) | %s | %s |\n", p, sentence(all[p]), code(all[p].imports))
	}
	return b.String()
}

// indirectly reports whether a package imports another package through a third package.
func indirectly(all map[string]pkg, from, to string) bool {
	for _, i := range all[from].imports {
		if i != to && reaches(all, i, to) {
			return true
		}
	}
	return false
}

func reaches(all map[string]pkg, from, to string) bool {
	return from == to || slices.ContainsFunc(all[from].imports, func(i string) bool { return reaches(all, i, to) })
}

// id returns the identifier of a box in the diagram. It has a prefix because "graph" is a keyword
// in Mermaid.
func id(path string) string {
	return "p_" + strings.NewReplacer("/", "_", "-", "_").Replace(path)
}

// sentence returns a package's description in p.about without "Package" and the name.
func sentence(p pkg) string {
	_, about, found := strings.Cut(p.about, "Package "+filepath.Base(p.path)+" ")
	if !found {
		about = p.about
	}
	return strings.ReplaceAll(about, "|", `\|`)
}

func code(paths []string) string {
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = "`" + p + "`"
	}
	return strings.Join(quoted, ", ")
}
