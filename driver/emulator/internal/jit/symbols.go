package jit

import (
	"fmt"
	"strings"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/ptx"
)

// symbols holds, by name, the functions and variables that linker inputs share. Its messages have
// the wording of driver 580.
type symbols map[string]*symbol

// symbol is a function or a variable that several inputs may declare.
type symbol struct {
	fn      *ptx.Function
	v       *ptx.Variable
	first   string // the first input that refers to the symbol
	definer string // the input that defines the symbol, or "" if none has so far
	weak    bool   // another input may also define the symbol
}

func (t symbols) add(name string, tree *ptx.Module) []string {
	var wrong []string
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ptx.Function:
			if d.Linkage != ptx.NoLinkage {
				wrong = append(wrong, t.function(name, d)...)
			}
		case *ptx.Variable:
			if d.Linkage != ptx.NoLinkage && (d.Space == ptx.GlobalSpace || d.Space == ptx.ConstSpace) {
				wrong = append(wrong, t.variable(name, d)...)
			}
		}
	}
	return wrong
}

func (t symbols) function(name string, f *ptx.Function) []string {
	s := t[f.Name]
	if s == nil {
		s = &symbol{fn: f, first: name}
		t[f.Name] = s
	}
	var wrong []string
	if s.fn != nil && !sameParams(s.fn.Params, f.Params) || s.fn != nil && !sameParams(s.fn.Return, f.Return) {
		first := s.definer
		if first == "" {
			first = name
		}
		wrong = append(wrong, contradiction("Prototype doesn't match", f.Name, name, "first defined", first))
	}
	if f.Body == nil {
		return wrong
	}
	if s.definer != "" && !s.weak && f.Linkage != ptx.Weak {
		wrong = append(wrong, contradiction("Multiple definition", f.Name, name, "first defined", s.definer))
	}
	s.define(name, f.Linkage == ptx.Weak)
	return wrong
}

func (t symbols) variable(name string, v *ptx.Variable) []string {
	s := t[v.Name]
	if s == nil {
		s = &symbol{v: v, first: name}
		t[v.Name] = s
	}
	var wrong []string
	if s.v != nil && s.v.Space != v.Space {
		wrong = append(wrong, contradiction("Memory space doesn't match", v.Name, name, "first specified", s.first))
	}
	if s.v != nil && fixedSize(s.v) && fixedSize(v) && s.v.Size() != v.Size() {
		wrong = append(wrong, contradiction("Size doesn't match", v.Name, name, "first specified", s.first))
	}
	if v.Linkage == ptx.Extern {
		return wrong
	}
	weak := v.Linkage != ptx.Visible // weak or common
	if s.definer != "" && !s.weak && !weak {
		wrong = append(wrong, contradiction("Multiple definition", v.Name, name, "first defined", s.first))
	}
	s.define(name, weak)
	return wrong
}

// define records a definition unless a strong definition already exists.
func (s *symbol) define(name string, weak bool) {
	if s.definer == "" || s.weak {
		s.definer, s.weak = name, weak
	}
}

// fixedSize reports whether all declarations of a variable must agree on its size.
func fixedSize(v *ptx.Variable) bool { return v.Linkage != ptx.Common && v.Size() > 0 }

func sameParams(a, b []*ptx.Variable) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Size() != b[i].Size() {
			return false
		}
	}
	return true
}

func contradiction(what, symbol, input, how, first string) string {
	of := "for"
	if strings.HasPrefix(what, "Multiple") {
		of = "of"
	}
	return fmt.Sprintf("error   : %s %s '%s' in '%s', %s in '%s'", what, of, symbol, input, how, first)
}

// undefined returns messages for an input's extern variables and used extern functions that no
// input defines.
func (t symbols) undefined(name string, tree *ptx.Module, provided map[string]vm.Extern) []string {
	var functions, variables []string
	used := namesIn(tree)
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ptx.Function:
			if d.Linkage == ptx.Extern && d.Body == nil && used[d.Name] && provided[d.Name] == nil && !vm.Provided(d.Name) {
				functions = t.lacks(functions, d.Name, name)
			}
		case *ptx.Variable:
			if d.Linkage == ptx.Extern && (d.Space == ptx.GlobalSpace || d.Space == ptx.ConstSpace) {
				variables = t.lacks(variables, d.Name, name)
			}
		}
	}
	return append(functions, variables...)
}

// lacks appends a message to missing if no input defines the symbol, and returns missing.
func (t symbols) lacks(missing []string, symbol, input string) []string {
	if s := t[symbol]; s == nil || s.definer != "" {
		return missing
	}
	return append(missing, fmt.Sprintf("error   : Undefined reference to '%s' in '%s'", symbol, input))
}

// namesIn returns every name that an instruction or initialiser of a module uses as an operand.
func namesIn(tree *ptx.Module) map[string]bool {
	used := map[string]bool{}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ptx.Function:
			namesInBlock(d.Body, used)
		case *ptx.Variable:
			namesInInit(d.Init, used)
		}
	}
	return used
}

func namesInBlock(b *ptx.Block, used map[string]bool) {
	if b == nil {
		return
	}
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ptx.Block:
			namesInBlock(s, used)
		case *ptx.Instr:
			namesInOperands(s.Args, used)
		case *ptx.CallTargets:
			for _, n := range s.Targets {
				used[n] = true
			}
		}
	}
}

func namesInOperands(args []ptx.Operand, used map[string]bool) {
	for _, o := range args {
		switch o := o.(type) {
		case *ptx.Sym:
			used[o.Name] = true
		case *ptx.Vec:
			namesInOperands(o.Elems, used)
		}
	}
}

func namesInInit(in *ptx.Init, used map[string]bool) {
	if in == nil {
		return
	}
	if s, ok := in.Value.(*ptx.Sym); ok {
		used[s.Name] = true
	}
	for i := range in.Elems {
		namesInInit(&in.Elems[i], used)
	}
}
