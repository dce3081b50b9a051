package gen

import (
	"fmt"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

func (g *generator) build(u *unit) error {
	var errs problems
	for _, f := range u.mod.Kernels() {
		if !g.opts.wants(f.Name) {
			continue
		}
		k, err := g.kernel(u, f)
		errs.add(err)
		if k != nil {
			u.kernels = append(u.kernels, k)
		}
	}
	return errs.err()
}

// kernel builds the model of one kernel. It returns nil if a directive skips the kernel.
func (g *generator) kernel(u *unit, f *ptx.Function) (*kernel, error) {
	k := &kernel{name: f.Name, at: place{u.path, int(f.Pos.Line)}, sig: f.Signature()}
	doc, list := splitDoc(f.Doc, k.at)
	k.doc = doc
	k.params = params(k.sig.Params, f)
	var errs problems
	errs.add(k.shadowed())
	more, err := g.fromSource(u, k)
	errs.add(err)
	list = append(append(more, list...), g.opts.Types[f.Name]...)
	for _, d := range list {
		if d.word == "skip" {
			return nil, nil
		}
	}
	for _, d := range list {
		errs.add(g.apply(u, k, d))
	}
	for _, p := range k.params {
		errs.add(p.settle(k.at))
	}
	errs.add(k.nameArgs())
	errs.add(g.nameKernel(u, k))
	errs.add(k.sizeBlock(g.opts.Block))
	return k, errs.err()
}

// shadowed rejects a parameter with the name of its kernel. If another kernel follows, such text
// makes NVIDIA's compiler terminate the process (both ptxas from CUDA 11.8 and the compiler in the
// CUDA 13.0 driver).
func (k *kernel) shadowed() error {
	for _, p := range k.sig.Params {
		if p.Name == k.name {
			return k.at.errorf("kernel %s has a parameter of its own name, on which compilers in drivers crash; give it another one", k.name)
		}
	}
	return nil
}

func params(sig []ptx.Param, f *ptx.Function) []*param {
	found := pointers(f)
	out := make([]*param, len(sig))
	for i, p := range sig {
		out[i] = &param{Param: p, name: sourceName(f.Name, p.Name, i)}
		out[i].memory = isPointer(p) || p.Kind != ptx.ParamPointer && found[p.Name] && isAddress(p)
	}
	return out
}

// isPointer reports whether the text declares that a parameter points to memory that a
// program can allocate. Addresses in shared memory are passed as numbers.
func isPointer(p ptx.Param) bool {
	return p.Kind == ptx.ParamPointer && (p.PtrSpace == ptx.GenericSpace || p.PtrSpace == ptx.GlobalSpace)
}

// sourceName shortens names that nvcc generates: axpy_param_0 becomes p0.
func sourceName(kernel, name string, i int) string {
	if rest, ok := strings.CutPrefix(name, kernel+"_param_"); ok {
		return "p" + rest
	}
	if name == "" || exported(name) == "" {
		return fmt.Sprintf("p%d", i)
	}
	return name
}

func (g *generator) apply(u *unit, k *kernel, d directive) (err error) {
	switch d.word {
	case "name":
		if !isName(d.rest) {
			return d.at.errorf("%q is not a Go name", d.rest)
		}
		k.goName = d.rest
	case "block":
		k.block, err = d.block()
	case "grid":
		return d.at.errorf("grid is not a directive; state the block size:  %s block 256", marker)
	case "struct":
		return g.declare(u, d)
	case "params":
		return k.describe(d)
	}
	return err
}

// describe applies a directive that describes parameters: all of them in order, or some
// by name.
func (k *kernel) describe(d directive) error {
	specs, err := d.specs()
	if err != nil {
		return err
	}
	if len(specs) > len(k.params) {
		return d.at.errorf("kernel %s takes %d parameters, but %d are described", k.name, len(k.params), len(specs))
	}
	var errs problems
	for i, s := range specs {
		p := k.param(s.name)
		if p == nil && len(specs) == len(k.params) {
			p = k.params[i]
		}
		if p == nil {
			errs.add(d.at.errorf("kernel %s has no parameter %q; describe all %d in order to name them", k.name, s.name, len(k.params)))
			continue
		}
		errs.add(p.describe(s, d.at))
	}
	return errs.err()
}

func (k *kernel) param(name string) *param {
	for _, p := range k.params {
		if p.name == name || p.Param.Name == name {
			return p
		}
	}
	return nil
}

func (p *param) describe(s spec, at place) error {
	p.name = s.name
	if s.mode != modeNone {
		p.mode = s.mode
	}
	if s.typ != "" {
		p.typ = s.typ
	}
	if s.ptr || s.mode != modeNone {
		if !isAddress(p.Param) {
			return at.errorf("parameter %s is %s, which is not an address", s.name, ptxType(p.Param))
		}
		p.memory = true
	}
	return nil
}

func (p *param) settle(at place) error {
	if p.mode == modeRaw {
		p.memory, p.typ = false, addressType
		return nil
	}
	if p.typ == "" {
		if !p.memory {
			p.typ = plain(p.Param)
		}
		return nil
	}
	t, err := parseType(p.typ)
	if err == nil && !p.memory {
		err = fits(p.Param, t)
		p.sized = !t.known
	}
	if err != nil {
		return at.errorf("parameter %s: %w", p.name, err)
	}
	p.typ = t.text
	return nil
}

// nameArgs assigns a unique Go name to every parameter.
func (k *kernel) nameArgs() error {
	seen := map[string]*param{}
	for _, p := range k.params {
		p.arg, p.field = local(p.name), exported(p.name)
		if p.field == "Launch" {
			p.field = "Launch_"
		}
		if other := seen[p.field]; other != nil {
			return k.at.errorf("kernel %s: parameters %s and %s both become %s in Go; name them by a %s comment",
				k.name, other.name, p.name, p.field, marker)
		}
		seen[p.field] = p
	}
	return nil
}

func (g *generator) nameKernel(u *unit, k *kernel) error {
	if n := g.opts.Names[k.name]; n != "" {
		k.goName = n
	}
	if k.goName == "" {
		k.goName = g.opts.Prefix + g.goName(g.qualified(u, plainName(k.name)))
	}
	if !isName(k.goName) {
		return k.at.errorf("kernel %s has no usable Go name; give one with -name %s=Name", k.name, k.name)
	}
	return nil
}

// qualified adds the file's name as a prefix to a kernel's name, unless the name already
// begins with it.
func (g *generator) qualified(u *unit, name string) string {
	if !g.opts.Qualify || strings.HasPrefix(exported(name), u.ident) {
		return name
	}
	return u.base + "_" + name
}

// goName converts a name to an exported or unexported Go name, depending on the options.
func (g *generator) goName(name string) string {
	if g.opts.Unexported && g.opts.Prefix == "" {
		return local(name)
	}
	return exported(name)
}

// sizeBlock determines the block size of the grid helper. It prefers the size that the kernel
// requires, then a directive, then the option. If the kernel does not allow the option's size,
// sizeBlock reduces it. If the kernel does not allow the directive's size, sizeBlock returns an
// error.
func (k *kernel) sizeBlock(block [3]int) error {
	req, most := k.sig.ReqThreads, k.sig.MaxThreads
	switch {
	case req != [3]int{}:
		if k.block != [3]int{} && volume(k.block) != volume(req) {
			return k.at.errorf("kernel %s is compiled for blocks of %v (.reqntid), not %v", k.name, req, k.block)
		}
		k.block = req
	case k.block == [3]int{}:
		k.block = block
		if most != [3]int{} && volume(block) > volume(most) {
			k.block = [3]int{volume(most)}
		}
	case most != [3]int{} && volume(k.block) > volume(most):
		return k.at.errorf("kernel %s takes blocks of at most %d threads (.maxntid), not %d", k.name, volume(most), volume(k.block))
	}
	return nil
}

func volume(d [3]int) int { return max(d[0], 1) * max(d[1], 1) * max(d[2], 1) }
