package main

import (
	"fmt"
	"slices"
	"strings"
)

// emitFunctions writes the function ids, the table of their properties, and the struct with
// a field for each resolved function.
func emitFunctions(a *api, f *file) {
	f.printf("// The functions of the driver, in the order of their symbols.\nconst (\n")
	for i, fn := range a.functions {
		f.printf("Fn%s", exported(fn.name))
		if i == 0 {
			f.printf(" Function = iota")
		}
		f.printf(" // %s, CUDA %s\n", fn.symbol, release(fn.since))
	}
	f.printf("\nfunctionCount = %d\n)\n\n", len(a.functions))

	f.printf("// functionTable describes each Function. Its strings end in NUL.\n")
	f.printf("var functionTable = [functionCount]functionInfo{\n")
	for _, fn := range a.functions {
		f.printf("{%q, %q, %q, %d},\n", fn.name+"\x00", fn.base+"\x00", fn.symbol+"\x00", fn.since)
	}
	f.printf("}\n\n")

	f.printf("// functions has the resolved function of each Function, in the same order.\n")
	f.printf("type functions struct {\n")
	for _, fn := range a.functions {
		f.printf("%s loader.Proc\n", fn.name)
	}
	f.printf("}\n")
}

// escaping lists the functions that may call back into Go before they return.
var escaping = map[string]bool{
	"cuOccupancyMaxPotentialBlockSize":          true,
	"cuOccupancyMaxPotentialBlockSizeWithFlags": true,
	"cuLogsRegisterCallback":                    true,
	"cuUserObjectCreate":                        true,
	"cuUserObjectRelease":                       true,
	"cuUserObjectRetain":                        true,
	"cuGraphReleaseUserObject":                  true,
	"cuGraphDestroy":                            true, // may release the last reference to a user object, whose destructor calls Go code
	"cuGraphExecDestroy":                        true,
}

// notes holds documentation that a Go program needs in addition to the C prototype.
var notes = map[string]string{
	"cuLogsRegisterCallback": "The driver calls back from within whatever call has something to say, with arguments\n" +
		"that may lie on a goroutine's stack: the callback must be C code, never a Go function.\n" +
		"cuLogsCurrent and cuLogsDumpToMemory need none.",
	"cuGetErrorName":   "[CUresult] has the names without a driver.",
	"cuGetErrorString": "[CUresult] has an explanation without a driver.",
}

const docs = "https://docs.nvidia.com/cuda/cuda-driver-api/"

func pageOf(group string) string {
	if group == "" {
		return docs + "index.html"
	}
	return docs + "group__" + strings.ReplaceAll(group, "_", "__") + ".html"
}

func emitMethod(a *api, f *file, fn *function) {
	name := exported(fn.name)
	f.printf("// %s calls %s", name, fn.base)
	switch {
	case fn.older:
		f.printf(" as in CUDA %s", release(fn.since))
	default:
		f.printf(", available since CUDA %s", release(fn.since))
	}
	if fn.symbol != fn.base {
		f.printf(" (symbol %s)", fn.symbol)
	}
	f.printf(".\n")
	if forms := olderForms(a, fn); len(forms) > 0 {
		f.printf("// Older drivers have %s.\n", strings.Join(forms, ", "))
	}
	f.printf("//\n//\t%s\n//\n", wrap(fn.proto))
	if n := notes[fn.base]; n != "" {
		f.printf("// %s\n//\n", strings.ReplaceAll(n, "\n", "\n// "))
	}
	f.printf("// %s\n", pageOf(fn.group))
	f.printf("func (d *Driver) %s(%s) error {\nd = d.orNone()\n", name, signature(fn.params))
	switch {
	case has(fn, classIndirect):
		f.printf("if structsOnStack(&d.fn.%s) {\n", fn.name)
		emitCall(f, fn, stackWords(fn))
		f.printf("}\n")
	case has(fn, classFloat):
		f.printf("if !passesFloats(&d.fn.%s) {\nreturn d.impossible(Fn%s)\n}\n", fn.name, name)
	}
	emitCall(f, fn, plainWords(fn))
	f.printf("}\n\n")
}

// olderForms returns links to the methods for a function's older ABIs, newest first.
func olderForms(a *api, fn *function) []string {
	var older []*function
	for _, g := range a.functions {
		if g.base == fn.base && g.since < fn.since {
			older = append(older, g)
		}
	}
	slices.SortFunc(older, func(g, h *function) int { return h.since - g.since })
	var forms []string
	for _, g := range older {
		forms = append(forms, fmt.Sprintf("[Driver.%s] (CUDA %s)", exported(g.name), release(g.since)))
	}
	return forms
}

func has(fn *function, c class) bool {
	for _, p := range fn.params {
		if p.class == c {
			return true
		}
	}
	return false
}

// wrap breaks a long prototype at its commas.
func wrap(proto string) string {
	const width = 100
	var lines []string
	line := ""
	for i, part := range strings.SplitAfter(proto, ", ") {
		if i > 0 && len(line)+len(part) > width {
			lines = append(lines, strings.TrimRight(line, " "))
			line = "    "
		}
		line += part
	}
	return strings.Join(append(lines, line), "\n//\t")
}

func signature(params []param) string {
	var parts []string
	for i, p := range params {
		if i+1 < len(params) && params[i+1].goType == p.goType {
			parts = append(parts, p.name)
			continue
		}
		parts = append(parts, p.name+" "+p.goType)
	}
	return strings.Join(parts, ", ")
}

// word is a field of an argument block. It may occupy several slots.
type word struct {
	name, goType, value string
	slots               int
}

// block is an argument block, with its fields and the value of Call.N.
type block struct {
	words []word
	n     string
}

// minSlots is the smallest number of slots that the loader reads.
const minSlots = 8

func (b *block) add(w word) { b.words = append(b.words, w) }
func (b *block) slots() (n int) {
	for _, w := range b.words {
		n += w.slots
	}
	return n
}

// pad adds unused slots until the block has n slots.
func (b *block) pad(n int) {
	if k := n - b.slots(); k > 0 {
		b.add(word{"_", fmt.Sprintf("[%d]uintptr", k), "", k})
	}
}

func wordOf(p param) word {
	switch p.class {
	case classPointer:
		return word{p.name, p.goType, p.name, 1}
	case classFloat:
		return word{p.name, "uintptr", "floatWord(" + p.name + ")", 1}
	case classPacked:
		return word{p.name, p.goType, p.name, 1}
	case classIndirect:
		return word{p.name, "*" + p.goType, "&" + p.name, 1}
	}
	return word{p.name, "uintptr", "uintptr(" + p.name + ")", 1}
}

// plainWords returns a block with one slot per argument, in the order of the C parameters. Drivers
// written in Go always receive their arguments in this form.
func plainWords(fn *function) *block {
	b := &block{n: fmt.Sprint(len(fn.params))}
	for i, p := range fn.params {
		b.add(wordOf(p))
		if p.class == classFloat {
			b.n += fmt.Sprintf("+loader.FloatArg<<%d", i)
		}
	}
	b.pad(minSlots)
	return b
}

// stackWords returns a block with six slots for the arguments in registers, followed by the structs
// that C passes on the stack.
func stackWords(fn *function) *block {
	const registers, structSlots = 6, 8
	b := &block{}
	for _, p := range fn.params {
		if p.class != classIndirect {
			b.add(wordOf(p))
		}
	}
	b.pad(registers)
	for _, p := range fn.params {
		if p.class == classIndirect {
			b.add(word{p.name, p.goType, p.name, structSlots})
		}
	}
	b.n = fmt.Sprint(b.slots())
	return b
}

func emitCall(f *file, fn *function, b *block) {
	// The generated code assigns field by field. For a composite literal, the compiler would build
	// a copy and load it in wider pieces. These loads would stall until the narrow stores reach the
	// cache.
	f.printf("var a struct {\nc loader.Call\n")
	for _, w := range b.words {
		f.printf("%s %s\n", w.name, w.goType)
	}
	f.printf("}\na.c.Proc, a.c.Scope, a.c.N = &d.fn.%s, d.scope, %s\n", fn.name, b.n)
	for _, w := range b.words {
		if w.value != "" {
			f.printf("a.%s = %s\n", w.name, w.value)
		}
	}
	invoke := "Invoke"
	if escaping[fn.base] {
		invoke = "InvokeEscaping"
	}
	f.printf("return d.result(Fn%s, loader.%s(&a.c))\n", exported(fn.name), invoke)
}
