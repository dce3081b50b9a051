package ptx

import "strconv"

// String returns the module as PTX text. The text keeps only the comments in Doc. Parsing the text
// returns the same tree except for positions.
func (m *Module) String() string { return string(m.Append(nil)) }

// Append appends the module as PTX text to b.
func (m *Module) Append(b []byte) []byte {
	w := printer{b: b}
	w.header(m)
	for _, d := range m.Decls {
		w.decl(d)
	}
	return w.b
}

// String returns the instruction in PTX syntax, with its guard and semicolon.
func (in *Instr) String() string {
	var w printer
	w.instr(in)
	return string(w.b)
}

// OperandString returns an operand in PTX syntax.
func OperandString(o Operand) string {
	var w printer
	w.operand(o)
	return string(w.b)
}

// printer appends text. Each method is named after what it writes.
type printer struct {
	b      []byte
	indent int
}

func (w *printer) put(parts ...string) {
	for _, s := range parts {
		w.b = append(w.b, s...)
	}
}

func (w *printer) int(v int64) { w.b = strconv.AppendInt(w.b, v, 10) }

// tabs writes the indentation. It limits the width to more than any compiler's nesting,
// so that printing hostile input does not multiply its size.
func (w *printer) tabs() {
	const most = "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t"
	w.put(most[:min(w.indent, len(most))])
}

func (w *printer) header(m *Module) {
	w.put(".version ", m.Version.String(), "\n")
	if len(m.Targets) > 0 {
		w.put(".target ")
		w.names(m.Targets)
		w.put("\n")
	}
	if m.AddressSize != 0 {
		w.put(".address_size ")
		w.int(int64(m.AddressSize))
		w.put("\n")
	}
}

func (w *printer) names(list []string) {
	for i, s := range list {
		if i > 0 {
			w.put(", ")
		}
		w.put(s)
	}
}

func (w *printer) decl(d Decl) {
	switch d := d.(type) {
	case *Function:
		w.put("\n")
		w.function(d)
	case *Alias:
		w.put(".alias ", d.Name, ", ", d.Target, ";\n")
	default:
		w.shared(d)
	}
}

// shared writes a node that is allowed in a body and at module level.
func (w *printer) shared(node any) {
	switch n := node.(type) {
	case *Variable:
		w.comment(n.Doc)
		w.tabs()
		w.variable(n)
		w.put(";\n")
	case *RegDecl:
		w.tabs()
		w.register(n)
		w.put(";\n")
	case *File:
		w.tabs()
		w.file(n)
	case *Section:
		w.tabs()
		if n.Name != "."+sourceSection {
			w.put(".section ")
		}
		w.put(n.Name, " {", n.Text, "}\n")
	case *Pragma:
		w.tabs()
		w.pragma(n.Text)
		w.put("\n")
	case *Loc:
		w.tabs()
		w.loc(n)
	case *Raw:
		w.put(n.Text, "\n")
	}
}

func (w *printer) comment(doc string) {
	for doc != "" {
		line := doc
		doc = ""
		for i := range len(line) {
			if line[i] == '\n' {
				line, doc = line[:i], line[i+1:]
				break
			}
		}
		w.tabs()
		if line == "" {
			w.put("//\n")
		} else {
			w.put("// ", line, "\n")
		}
	}
}

func (w *printer) function(f *Function) {
	w.comment(f.Doc)
	w.linkage(f.Linkage)
	if f.Entry {
		w.put(".entry ")
	} else {
		w.put(".func ")
	}
	w.attributes(f.Attributes)
	if len(f.Return) > 0 {
		w.put("(")
		w.parameters(f.Return, " ")
		w.put(") ")
	}
	w.put(f.Name, "(")
	if len(f.Params) > 0 {
		w.put("\n\t")
		w.parameters(f.Params, "\n\t")
		w.put("\n")
	}
	w.put(")")
	w.performance(f.Perf, "\n")
	if f.Body == nil {
		w.put(";\n")
		return
	}
	w.put("\n")
	w.block(f.Body)
}

func (w *printer) linkage(l Linkage) {
	if l != NoLinkage {
		w.put(".", l.String(), " ")
	}
}

func (w *printer) attributes(list []Attribute) {
	if len(list) == 0 {
		return
	}
	w.put(".attribute(")
	for i, a := range list {
		if i > 0 {
			w.put(", ")
		}
		w.put(".", a.Name)
		if len(a.Args) > 0 {
			w.put("(")
			w.numbers(a.Args)
			w.put(")")
		}
	}
	w.put(") ")
}

func (w *printer) numbers(list []uint64) {
	for i, v := range list {
		if i > 0 {
			w.put(", ")
		}
		w.b = strconv.AppendUint(w.b, v, 10)
	}
}

func (w *printer) parameters(list []*Variable, between string) {
	for i, v := range list {
		if i > 0 {
			w.put(",", between)
		}
		w.variable(v)
	}
}

func (w *printer) performance(list []Directive, before string) {
	for _, d := range list {
		w.put(before)
		if d.Name == "pragma" {
			w.pragma(d.Text)
			continue
		}
		w.put(".", d.Name)
		between := " "
		for _, s := range d.Text {
			w.put(between, `"`, s, `"`)
			between = ", "
		}
		if len(d.Args) > 0 {
			w.put(between)
			w.numbers(d.Args)
		}
	}
}

func (w *printer) pragma(text []string) {
	w.put(".pragma ")
	for i, s := range text {
		if i > 0 {
			w.put(", ")
		}
		w.put(`"`, s, `"`)
	}
	w.put(";")
}

func (w *printer) variable(v *Variable) {
	w.linkage(v.Linkage)
	w.put(".", v.Space.String())
	if v.Bank != 0 {
		w.put("[")
		w.int(int64(v.Bank))
		w.put("]")
	}
	w.put(" ")
	w.attributes(v.Attributes)
	w.shape(v.Align, v.Vector, v.Type)
	if v.Ptr != nil {
		w.pointer(v.Ptr)
	}
	w.declared(v.Name, v.Count)
	for _, d := range v.Dims {
		w.put("[")
		if d != Unsized {
			w.int(d)
		}
		w.put("]")
	}
	if v.Init != nil {
		w.put(" = ")
		w.init(v.Init)
	}
}

func (w *printer) shape(align, vector int, t Type) {
	if align != 0 {
		w.put(".align ")
		w.int(int64(align))
		w.put(" ")
	}
	if vector != 0 {
		w.put(".v")
		w.int(int64(vector))
		w.put(" ")
	}
	w.put(".", t.String(), " ")
}

func (w *printer) pointer(p *Pointer) {
	w.put(".ptr ")
	if p.Space != GenericSpace {
		w.put(".", p.Space.String(), " ")
	}
	if p.Align != 0 {
		w.put(".align ")
		w.int(int64(p.Align))
		w.put(" ")
	}
}

func (w *printer) declared(name string, count int) {
	if name == "" {
		name = "_"
	}
	w.put(name)
	if count != 0 {
		w.put("<")
		w.int(int64(count))
		w.put(">")
	}
}

func (w *printer) register(r *RegDecl) {
	w.put(".reg ")
	w.shape(r.Align, r.Vector, r.Type)
	w.declared(r.Name, r.Count)
}

func (w *printer) init(in *Init) {
	if in.Field != "" {
		w.put(in.Field, " = ")
	}
	if !in.List {
		w.operand(in.Value)
		return
	}
	w.put("{")
	for i := range in.Elems {
		if i > 0 {
			w.put(", ")
		}
		w.init(&in.Elems[i])
	}
	w.put("}")
}

func (w *printer) file(f *File) {
	w.put(".file ")
	w.int(int64(f.Index))
	w.put(` "`, f.Name, `"`)
	if f.Stamp {
		w.put(", ")
		w.numbers([]uint64{f.Time, f.Size})
	}
	w.put("\n")
}

func (w *printer) loc(l *Loc) {
	w.put(".loc")
	if l.Intermediate {
		w.put("_intermediate")
	}
	w.put(" ")
	w.place(l.File, l.Line, l.Col)
	if in := l.Inlined; in != nil {
		w.put(", function_name ", in.Func)
		w.plus(in.FuncOffset)
		w.put(", inlined_at ")
		w.place(in.File, in.Line, in.Col)
	}
	w.put("\n")
}

func (w *printer) place(file, line, col int) {
	w.int(int64(file))
	w.put(" ")
	w.int(int64(line))
	w.put(" ")
	w.int(int64(col))
}
