package gen

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// Options say what is made of the inputs.
type Options struct {
	Package    string                 // name of the package
	Dir        string                 // where the files go
	Source     string                 // where the CUDA sources of PTX files are looked for
	Set        string                 // type of all kernels together
	Embedded   bool                   // modules belong to the context instead of to a set
	Unexported bool                   // names begin small
	Qualify    bool                   // kernels' Go names begin with the file's
	Prefix     string                 // of kernels' Go names
	Names      map[string]string      // Go names of kernels
	Types      map[string][]directive // parameters of kernels, by AddTypes
	Only, Skip *regexp.Regexp         // kernels by their names in the PTX
	Block      [3]int                 // for grid helpers; zero: 256
	Forms      Forms                  // of launching, beside operations
	Compiler   Compiler               // of CUDA sources
	Tags       string                 // build constraint of the files
}

func (o *Options) wants(name string) bool {
	return (o.Only == nil || o.Only.MatchString(name)) && (o.Skip == nil || !o.Skip.MatchString(name))
}

// ParseForms reads a list such as "grid,do,prepare"; "op" is always there.
func ParseForms(s string) (f Forms, err error) {
	for _, word := range strings.Split(s, ",") {
		switch strings.TrimSpace(word) {
		case "grid":
			f.Grid = true
		case "do":
			f.Do = true
		case "prepare":
			f.Prepare = true
		case "op":
		default:
			return f, fmt.Errorf("%q is not one of op, grid, do and prepare", word)
		}
	}
	return f, nil
}

// AddTypes adds what a flag says about a kernel: "axpy: in x float32, n uint32".
func (o *Options) AddTypes(s string) error {
	name, rest, ok := strings.Cut(s, ":")
	if !ok || strings.TrimSpace(rest) == "" {
		return errors.New(`write "kernel: in x float32, n uint32"`)
	}
	if o.Types == nil {
		o.Types = map[string][]directive{}
	}
	name = strings.TrimSpace(name)
	o.Types[name] = append(o.Types[name], newDirective(rest, place{file: "-types"}))
	return nil
}

// File is a file to be written.
type File struct {
	Path string
	Data []byte
}

type generator struct {
	opts    Options
	units   []*unit
	structs map[string]*structType
	names   map[string]place // Go names of the package
}

// Generate reads PTX files and CUDA sources and returns the files to be written:
// the Go files in the order of their names, and the PTX of CUDA sources. The error has everything that is wrong with the inputs.
func Generate(opts Options, inputs []string) ([]File, error) {
	g := &generator{opts: opts, structs: map[string]*structType{}, names: map[string]place{}}
	if g.opts.Block == [3]int{} {
		g.opts.Block = [3]int{256}
	}
	var errs problems
	for _, in := range inputs {
		u, err := g.read(in)
		errs.add(err)
		if err == nil {
			g.units = append(g.units, u)
		}
	}
	sort.Slice(g.units, func(i, j int) bool { return g.units[i].base < g.units[j].base })
	errs.add(g.checkNames())
	errs.add(g.checkOptions())
	if err := errs.err(); err != nil {
		return nil, err
	}
	return g.files()
}

// read parses one input and makes its model.
func (g *generator) read(path string) (*unit, error) {
	base := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	u := &unit{path: path, ptx: path, base: base, ident: exported(base)}
	if u.ident == "" {
		return nil, place{file: path}.errorf("no Go name can be made of the file's name")
	}
	text, err := g.text(u)
	if err != nil {
		return nil, err
	}
	if u.mod, err = ptx.Parse(u.ptx, text); err != nil {
		return nil, err
	}
	if err := g.build(u); err != nil {
		return nil, err
	}
	if len(u.kernels) == 0 {
		return nil, place{file: path}.errorf("there is no kernel (.entry) in it that is wanted")
	}
	return u, nil
}

// text returns the PTX of a unit, compiled if the input is a CUDA source, and
// reads what the source says.
func (g *generator) text(u *unit) (text []byte, err error) {
	if filepath.Ext(u.path) != ".cu" {
		if u.source, err = g.findSource(u.path, u.base); err != nil {
			return nil, err
		}
		return os.ReadFile(u.path)
	}
	if u.source, err = g.readSource(u.path); err != nil {
		return nil, err
	}
	u.ptx = filepath.Join(g.opts.Dir, u.base+".ptx")
	u.compiled, err = g.opts.Compiler.compile(u.path)
	return u.compiled, err
}

// checkOptions refuses options about kernels that none of the inputs has: they
// are misspelt.
func (g *generator) checkOptions() error {
	known := map[string]bool{}
	for _, u := range g.units {
		for _, f := range u.mod.Kernels() {
			known[f.Name] = true
		}
	}
	var errs problems
	for _, name := range slices.Sorted(maps.Keys(g.opts.Names)) {
		if !known[name] {
			errs.add(place{file: "-name"}.errorf("there is no kernel %s", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.opts.Types)) {
		if !known[name] {
			errs.add(place{file: "-types"}.errorf("there is no kernel %s", name))
		}
	}
	return errs.err()
}

// checkNames makes sure that no two things of the package have one name.
func (g *generator) checkNames() error {
	var errs problems
	if !g.opts.Embedded {
		errs.add(g.name(g.opts.Set, place{file: "-set"}))
	}
	for i, u := range g.units {
		if i > 0 && g.units[i-1].base == u.base {
			errs.add(place{file: u.path}.errorf("%s has the same name: both would become %s_ptx.go", g.units[i-1].path, u.base))
		}
		if g.opts.Embedded {
			errs.add(g.name(g.module(u), place{file: u.path}))
		}
		for _, st := range u.structs {
			errs.add(g.name(st.name, st.at))
		}
		for _, k := range u.kernels {
			err := g.name(k.goName, k.at)
			if err == nil && g.opts.Forms.Prepare {
				err = g.name(k.goName+"Args", k.at)
			}
			errs.add(err)
		}
	}
	return errs.err()
}

func (g *generator) name(name string, at place) error {
	if other, ok := g.names[name]; ok {
		return at.errorf("%s is the Go name of something else, too (%v); give another one by -name, or -qualify", name, other)
	}
	g.names[name] = at
	return nil
}
