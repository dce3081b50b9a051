package fuzztest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/language"
	"github.com/purecuda/cuda/internal/language/kernels"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/verify/randgo"
)

// seeds returns kernels from the tests, as a seed corpus.
func seeds(f testing.TB) (texts []string) {
	f.Helper()
	for i := range uint64(20) {
		texts = append(texts, randgo.File("p", []*randgo.Kernel{randgo.New("k", i)}))
	}
	names, err := filepath.Glob("../../lower/testdata/*/*.go")
	if err != nil || len(names) == 0 {
		f.Fatal("there are no files of tests", err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if strings.Contains(name, "corpus") {
			texts = append(texts, kernelsOf(f, data)...)
		} else {
			texts = append(texts, string(data))
		}
	}
	for _, r := range slices.Concat(language.Refused, language.RefusedFiles) {
		text, _, _ := r.Text()
		texts = append(texts, text)
	}
	return append(texts, languageKernels(f)...)
}

// languageKernels returns one file for each kernel of package language.
func languageKernels(f testing.TB) (texts []string) {
	f.Helper()
	names, err := fs.Glob(kernels.Source, "*.go")
	if err != nil {
		f.Fatal(err)
	}
	fset := token.NewFileSet()
	decls := map[string][]ast.Decl{}
	var all []byte // all files, concatenated as the positions require
	for _, name := range names {
		data, err := kernels.Source.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		file, err := parser.ParseFile(fset, name, data, parser.SkipObjectResolution)
		if err != nil {
			f.Fatal(err)
		}
		all = append(append(all, data...), 0)
		for _, d := range file.Decls {
			for _, n := range namesOf(d) {
				decls[n] = append(decls[n], d)
			}
		}
	}
	for _, k := range kernels.All {
		var b strings.Builder
		b.WriteString("package p\n\nimport (\n\t\"math\"\n\t\"unsafe\"\n\n\t\"github.com/purecuda/cuda/ptx/gpu\"\n)\n")
		for i, part := range mentioned(decls[k.Name][0], decls) {
			directive := ""
			if i == 0 {
				directive = "//gpu:kernel block=8\n"
			}
			b.WriteString("\n" + directive + string(all[part.Pos()-1:part.End()-1]) + "\n")
		}
		texts = append(texts, b.String())
	}
	return texts
}

// kernelsOf returns one source for each function in a file. The source contains the function, the
// declarations it uses, and a kernel that calls it.
func kernelsOf(f testing.TB, data []byte) (texts []string) {
	f.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", data, parser.SkipObjectResolution)
	if err != nil {
		f.Fatal(err)
	}
	decls := map[string][]ast.Decl{}
	for _, d := range file.Decls {
		for _, n := range namesOf(d) {
			decls[n] = append(decls[n], d)
		}
	}
	text := func(n ast.Node) string { return string(data[n.Pos()-1 : n.End()-1]) }
	for _, d := range file.Decls {
		fun, ok := d.(*ast.FuncDecl)
		if !ok || fun.Recv != nil || fun.Type.TypeParams != nil {
			continue
		}
		var b strings.Builder
		b.WriteString("package p\n\nimport (\n\t\"github.com/purecuda/cuda/ptx/gpu\"\n\t\"math\"\n\t\"math/bits\"\n)\n")
		for _, part := range mentioned(fun, decls) {
			b.WriteString("\n" + text(part) + "\n")
		}
		params, args := []string{"t gpu.Thread"}, []string(nil)
		for _, p := range fun.Type.Params.List {
			for _, n := range p.Names {
				params, args = append(params, n.Name+" "+text(p.Type)), append(args, n.Name)
			}
		}
		fmt.Fprintf(&b, "\n//gpu:kernel block=64\nfunc kernel(%s) { %s(%s) }\n", strings.Join(params, ", "), fun.Name.Name, strings.Join(args, ", "))
		texts = append(texts, b.String())
	}
	return texts
}

// namesOf returns the names that a declaration declares. For a method, that is the name of its
// type.
func namesOf(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				names = append(names, id.Name)
			}
			return true
		})
		return names[:1]
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

// mentioned returns the declaration first and all declarations it uses, directly or indirectly.
func mentioned(first ast.Decl, decls map[string][]ast.Decl) (list []ast.Decl) {
	list = append(list, first)
	seen := map[ast.Decl]bool{first: true}
	for i := 0; i < len(list); i++ {
		ast.Inspect(list[i], func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				for _, d := range decls[id.Name] {
					if !seen[d] {
						seen[d] = true
						list = append(list, d)
					}
				}
			}
			return true
		})
	}
	return list
}
