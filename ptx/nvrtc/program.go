package nvrtc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Program is CUDA C++ text and how to compile it. Only Source is required.
type Program struct {
	// Name is how messages refer to the text, such as "saxpy.cu"; "" means
	// "program.cu". No file of that name is read, but its folder is searched for
	// headers.
	Name string
	// Source is the text. Declare kernels extern "C" to find them by their plain names.
	Source string
	// Headers maps names in #include to the texts of headers.
	Headers map[string]string
	// IncludePaths are folders to search for headers. Compiler.CUDAIncludes returns
	// those of CUDA's own headers, such as cuda_fp16.h.
	IncludePaths []string
	// Options are further options of NVRTC, such as "--use_fast_math" or "-DN=3".
	Options []string
	// Arch is what to compile for. "" leaves the choice to NVRTC, which takes an old
	// virtual architecture. See Compiler.ArchFor.
	Arch Arch
	// NameExpressions are C++ names of kernels and variables, such as "add<float>",
	// whose names in the PTX are needed: see Result.LoweredName. Naming a template here
	// instantiates it.
	NameExpressions []string
}

// Result is compiled code. It belongs to the caller.
type Result struct {
	// PTX is the text, without a NUL at its end.
	PTX []byte
	// Cubin is code for one architecture, nil unless Program.Arch is a real one.
	Cubin []byte
	// Log holds the compiler's warnings and remarks; it is usually empty.
	Log string
	// Lowered maps Program.NameExpressions to names in the PTX.
	Lowered map[string]string
	// Cached reports whether the result came from the cache.
	Cached bool
}

// Image returns what to load into a context: the cubin if there is one, else the PTX.
func (r *Result) Image() []byte {
	if r == nil {
		return nil
	}
	if len(r.Cubin) > 0 {
		return r.Cubin
	}
	return r.PTX
}

// LoweredName returns the name in the PTX of one of the program's NameExpressions, for
// driver.Module.Kernel.
func (r *Result) LoweredName(expression string) (string, error) {
	if r == nil {
		return "", invalidf("nil result: Compiler.Compile returns one")
	}
	if name, ok := r.Lowered[expression]; ok {
		return name, nil
	}
	return "", invalidf("the expression %q is not one of Program.NameExpressions, which are %q",
		expression, slices.Sorted(maps.Keys(r.Lowered)))
}

// copy returns a deep copy of r.
func (r *Result) copy() *Result {
	c := *r
	c.PTX, c.Cubin, c.Lowered = slices.Clone(r.PTX), slices.Clone(r.Cubin), maps.Clone(r.Lowered)
	return &c
}

const defaultName = "program.cu"

func (p *Program) name() string {
	if p.Name == "" {
		return defaultName
	}
	return p.Name
}

// options returns the options for NVRTC.
func (p *Program) options() []string {
	var list []string
	if p.Arch != "" {
		list = append(list, "--gpu-architecture="+string(p.Arch))
	}
	for _, folder := range p.IncludePaths {
		list = append(list, "--include-path="+folder)
	}
	return append(list, p.Options...)
}

// check finds strings that C cannot represent, and contradictions.
func (p *Program) check() error {
	for what, texts := range map[string][]string{
		"Name": {p.Name}, "Source": {p.Source}, "Arch": {string(p.Arch)},
		"IncludePaths": p.IncludePaths, "Options": p.Options, "NameExpressions": p.NameExpressions,
		"Headers": append(slices.Collect(maps.Keys(p.Headers)), slices.Collect(maps.Values(p.Headers))...),
	} {
		if slices.ContainsFunc(texts, func(s string) bool { return strings.ContainsRune(s, 0) }) {
			return invalidf("cannot compile %s: %s contains a NUL byte", p.name(), what)
		}
	}
	if p.Arch == "" {
		return nil
	}
	for _, o := range p.Options {
		if strings.HasPrefix(o, "-arch") || strings.HasPrefix(o, "--gpu-architecture") {
			return invalidf("cannot compile %s: Arch is %s, and Options have %s too; set one of them", p.name(), p.Arch, o)
		}
	}
	return nil
}

// String returns the program's name for messages.
func (p *Program) String() string { return fmt.Sprintf("program %s", p.name()) }
