package ptx

import (
	"fmt"
	"io"
	"strings"
)

// Summary writes the report as text: the requirements of the module, the kernels, then
// everything else. The layout may change between versions.
func (i *Inspection) Summary(w io.Writer) error {
	s := &summary{}
	s.module(i)
	for k := range i.Kernels {
		s.function("kernel", &i.Kernels[k])
	}
	for k := range i.Functions {
		s.function("function", &i.Functions[k])
	}
	s.variables(i)
	s.externs(i)
	s.features(i)
	_, err := io.WriteString(w, s.String())
	return err
}

// String returns the summary.
func (i *Inspection) String() string {
	var b strings.Builder
	_ = i.Summary(&b) // a strings.Builder never fails
	return b.String()
}

type summary struct{ strings.Builder }

func (s *summary) row(name, format string, args ...any) {
	fmt.Fprintf(s, "  %-11s "+format+"\n", append([]any{name}, args...)...)
}

func (s *summary) module(i *Inspection) {
	name := i.Name
	if name == "" {
		name = "module"
	}
	fmt.Fprintf(s, "%s: PTX %v for %s, %s, %s\n", name, i.Version, orNone(strings.Join(i.Targets, ", "), "no target"),
		addressText(i.AddressSize), counted(i.Instructions, "instruction"))
	s.row("needs", "%v", i.Needs)
	if err := i.Needs.Check(0, 0, 0); err != nil {
		s.row("but", "%v", err)
	}
}

func addressText(size int) string {
	if size == 0 {
		return "address size not stated"
	}
	return fmt.Sprintf("%d-bit addresses", size)
}

func (s *summary) function(kind string, f *FunctionInfo) {
	fmt.Fprintf(s, "\n%s %s, line %d\n", kind, f.Name, f.Pos.Line)
	if f.Doc != "" {
		first, _, _ := strings.Cut(f.Doc, "\n")
		s.row("", "%s", first)
	}
	s.parameters(f)
	if text := f.boundsText(); text != "" {
		s.row("launch", "%s", text)
	}
	s.row("registers", "%s", f.Registers.text())
	if text := f.memoryText(); text != "" {
		s.row("memory", "%s", text)
	}
	s.row("code", "%s in %s", counted(f.Instructions, "instruction"), counted(f.Blocks, "block"))
	if text := f.callsText(); text != "" {
		s.row("calls", "%s", text)
	}
	if len(f.Uses) > 0 {
		s.row("uses", "%s", strings.Join(f.Uses, ", "))
	}
}

func (s *summary) parameters(f *FunctionInfo) {
	if len(f.Params) == 0 {
		s.row("parameters", "none")
		return
	}
	s.row("parameters", "%d in %s", len(f.Params), counted(f.ParamBytes, "byte"))
	for _, p := range f.Params {
		fmt.Fprintf(s, "  %11d %s\n", p.Offset, p.text())
	}
}

// text returns the parameter in a readable form: "n .u32", "x pointer to .global,
// aligned to 16".
func (p Param) text() string {
	name := orNone(p.Name, "(no name)")
	switch {
	case p.Kind == ParamPointer:
		text := name + " pointer"
		if p.PtrSpace != GenericSpace {
			text += " to ." + p.PtrSpace.String()
		}
		if p.PtrAlign > 0 {
			text += fmt.Sprintf(", aligned to %d", p.PtrAlign)
		}
		return text
	case p.Len < 0:
		return name + " ." + p.Type.String() + "[]"
	case p.Kind == ParamAggregate:
		return fmt.Sprintf("%s %d bytes by value, aligned to %d", name, p.Size, p.Align)
	case p.Size > p.Type.Size():
		return fmt.Sprintf("%s .v%d .%v", name, p.Size/max(p.Type.Size(), 1), p.Type)
	}
	return name + " ." + p.Type.String()
}

func (f *FunctionInfo) boundsText() string {
	var parts []string
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(f.ReqThreads[0] > 0, "blocks of exactly %s threads", extentText(f.ReqThreads))
	add(f.MaxThreads[0] > 0, "at most %d threads per block (.maxntid %s)", f.MaxThreads[0]*f.MaxThreads[1]*f.MaxThreads[2], extentText(f.MaxThreads))
	add(f.MinBlocks > 0, "at least %d blocks per multiprocessor", f.MinBlocks)
	add(f.MaxRegs > 0, "at most %d registers", f.MaxRegs)
	add(f.ReqCluster[0] > 0, "clusters of %s blocks", extentText(f.ReqCluster))
	add(f.MaxCluster > 0, "clusters of at most %d blocks", f.MaxCluster)
	add(f.ClusterGrid, "grid counted in clusters")
	return strings.Join(parts, ", ")
}

func extentText(e [3]int) string { return fmt.Sprintf("%d x %d x %d", e[0], e[1], e[2]) }

func (r *Registers) text() string {
	declared := counted(r.Declared(), "declared register")
	if r.Live < 0 {
		return declared + ", too many paths for an estimate"
	}
	text := fmt.Sprintf("about %d live at once", r.Live)
	if r.At.IsValid() {
		text += fmt.Sprintf(" (line %d)", r.At.Line)
	}
	if r.LivePreds > 0 {
		text += " and " + counted(r.LivePreds, "predicate")
	}
	return text + "; " + declared
}

func (f *FunctionInfo) memoryText() string {
	var parts []string
	if f.Shared > 0 {
		parts = append(parts, fmt.Sprintf("%d bytes shared", f.Shared))
	}
	if f.DynamicShared {
		parts = append(parts, "dynamic shared")
	}
	if f.Local > 0 {
		parts = append(parts, fmt.Sprintf("%d bytes local", f.Local))
	}
	switch {
	case f.Stack < 0:
		parts = append(parts, "stack of unknown depth")
	case f.Stack > f.Local:
		parts = append(parts, fmt.Sprintf("%d bytes of stack including callees", f.Stack))
	}
	return strings.Join(parts, ", ")
}

func (f *FunctionInfo) callsText() string {
	parts := f.Calls
	if f.Indirect > 0 {
		parts = append(parts[:len(parts):len(parts)], counted(f.Indirect, "call")+" through pointers")
	}
	return strings.Join(parts, ", ")
}

func (s *summary) variables(i *Inspection) {
	if len(i.Variables) == 0 {
		return
	}
	fmt.Fprintf(s, "\nvariables: %d bytes .global, %d bytes .const\n", i.Global, i.Const)
	for _, v := range i.Variables {
		var notes []string
		for _, note := range []struct {
			is   bool
			text string
		}{{v.Initialised, "initialised"}, {v.Managed, "managed"}, {v.Linkage != NoLinkage, v.Linkage.String()}} {
			if note.is {
				notes = append(notes, note.text)
			}
		}
		text := fmt.Sprintf("%s, %d bytes, aligned to %d", v.Name, v.Size, v.Align)
		s.row("."+v.Space.String(), "%s", strings.Join(append([]string{text}, notes...), ", "))
	}
}

func (s *summary) externs(i *Inspection) {
	if len(i.Externs) == 0 {
		return
	}
	s.WriteString("\nfrom elsewhere\n")
	for _, e := range i.Externs {
		switch {
		case e.Builtin:
			s.row("function", "%s (provided by the driver)", e.Name)
		case e.Function:
			s.row("function", "%s (must be linked)", e.Name)
		default:
			s.row("."+e.Space.String(), "%s, %d bytes (must be linked)", e.Name, e.Size)
		}
	}
}

func (s *summary) features(i *Inspection) {
	if len(i.Features) == 0 {
		return
	}
	s.WriteString("\nfeatures\n")
	for _, f := range i.Features {
		since := ""
		if f.Target != "" {
			since = ", since " + f.Target
		}
		s.row(fmt.Sprintf("%d x", f.Count), "%s%s, first in line %d", f.Name, since, f.First.Line)
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func orNone(s, none string) string {
	if s == "" {
		return none
	}
	return s
}
