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

// Options controls the generated code.
type Options struct {
	Package    string                 // name of the package
	Dir        string                 // folder of the generated files
	Source     string                 // folder that contains the CUDA sources of PTX files
	Set        string                 // name of the type that holds all kernels
	Embedded   bool                   // the context owns the modules, and there is no set
	Unexported bool                   // Go names are unexported
	Qualify    bool                   // prefix the kernels' Go names with the file name
	Prefix     string                 // prefix of the kernels' Go names
	Names      map[string]string      // Go names, by kernel
	Types      map[string][]directive // descriptions of parameters, by kernel; see AddTypes
	Only, Skip *regexp.Regexp         // select kernels by name in the PTX
	Block      [3]int                 // default block size of grid helpers; zero means 256 threads
	Forms      Forms                  // optional forms to generate, in addition to operations
	Compiler   Compiler               // compiler for CUDA sources
	Tags       string                 // build constraint of the generated files
}

func (o *Options) wants(name string) bool {
	return (o.Only == nil || o.Only.MatchString(name)) && (o.Skip == nil || !o.Skip.MatchString(name))
}

// ParseForms parses a list such as "grid,do,prepare". Operations are always generated.
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

// AddTypes adds a description of a kernel's parameters from a flag: "axpy: in x float32,
// n uint32".
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

// File is a file for the caller to write.
type File struct {
	Path string
	Data []byte
}

type generator struct {
	opts    Options
	units   []*unit
	structs map[string]*structType
	names   map[string]place // Go names used in the package, with the place where each was declared
}

// Generate reads PTX files and CUDA sources and returns the files to write: the Go files in name
// order, and the PTX compiled from CUDA sources. The error lists every problem in the inputs.
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

// read parses one input and builds the model of its kernels.
func (g *generator) read(path string) (*unit, error) {
	base := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	u := &unit{path: path, ptx: path, base: base, ident: exported(base)}
	if u.ident == "" {
		return nil, place{file: path}.errorf("the file's name cannot become a Go name")
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
		return nil, place{file: path}.errorf("it has no selected kernel (.entry)")
	}
	return u, nil
}

// text returns the PTX of a unit and parses its CUDA source. If the input is a CUDA
// source, text compiles it.
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

// checkOptions rejects options for kernels that no input contains, because their names
// are probably misspelled.
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

// checkNames checks that all generated names are different.
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
		return at.errorf("%s is also the Go name of something else (%v); choose another one with -name, or use -qualify", name, other)
	}
	g.names[name] = at
	return nil
}
