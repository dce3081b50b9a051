package build

import (
	"strconv"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// Pos is a position in a source file. File is an index returned by [Module.File].
type Pos struct {
	File, Line, Col int
}

// Loc adds a .loc directive: the code that follows comes from position p.
func (f *Func) Loc(p Pos) {
	if f.position(p) {
		f.located[p] = true
		f.add(&ptx.Loc{File: p.File, Line: p.Line, Col: p.Col})
	}
}

// LocInlined adds a .loc directive for code of a function that a compiler has inlined at a position
// in another function. There must be a preceding .loc for that position, so LocInlined adds one if
// necessary. For nested calls, call LocInlined for the outer call first. Inlined positions require
// PTX 7.2.
func (f *Func) LocInlined(p Pos, function string, at Pos) {
	if !f.position(p) || !f.position(at) {
		return
	}
	if !f.located[at] {
		f.Loc(at)
	}
	f.m.inlined, f.located[p] = true, true
	f.add(&ptx.Loc{File: p.File, Line: p.Line, Col: p.Col, Inlined: &ptx.Inlined{
		Func: f.m.debugString(function), File: at.File, Line: at.Line, Col: at.Col,
	}})
}

func (f *Func) position(p Pos) bool {
	if !f.ready() {
		return false
	}
	if p.File < 1 || p.File > len(f.m.files) {
		f.fail("file " + strconv.Itoa(p.File) + " of a position does not exist: Module.File returns its index")
		return false
	}
	if p.Line < 0 || p.Col < 0 {
		f.fail("a position is negative")
		return false
	}
	return true
}

// debugString returns the label of a string in .debug_str.
func (m *Module) debugString(s string) string {
	if l, ok := m.info[s]; ok {
		return l
	}
	l := "$L__info_string" + strconv.Itoa(len(m.strings))
	m.info[s] = l
	m.strings = append(m.strings, s)
	return l
}

// debugSection returns the .debug_str section.
func (m *Module) debugSection() *ptx.Section {
	var b strings.Builder
	b.WriteString("\n")
	for i, s := range m.strings {
		b.WriteString("$L__info_string" + strconv.Itoa(i) + ":\n")
		for k := range len(s) {
			if k%16 == 0 {
				b.WriteString("\t.b8 ")
			}
			b.WriteString(strconv.Itoa(int(s[k])))
			if k%16 == 15 || k == len(s)-1 {
				b.WriteString("\n")
			} else {
				b.WriteString(",")
			}
		}
		b.WriteString("\t.b8 0\n")
	}
	return &ptx.Section{Name: ".debug_str", Text: b.String()}
}
