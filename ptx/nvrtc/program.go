package nvrtc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Program is CUDA C++ source with compilation settings. Only Source is required.
type Program struct {
	// Name identifies the source in messages, such as "saxpy.cu". "" means "program.cu".
	// The file itself is not read, but its folder is searched for headers.
	Name string
	// Source is the CUDA C++ source. Declare kernels extern "C" if you want to find them by their
	// plain names.
	Source string
	// Headers maps names in #include to the contents of the headers.
	Headers map[string]string
	// IncludePaths lists folders to search for headers. Compiler.CUDAIncludes returns the
	// folders of CUDA's own headers, such as cuda_fp16.h.
	IncludePaths []string
	// Options contains other NVRTC options, such as "--use_fast_math" or "-DN=3".
	Options []string
	// Arch is the architecture to compile for. If Arch is "", NVRTC uses its default, which is an
	// old virtual architecture. See Compiler.ArchFor.
	Arch Arch
	// NameExpressions lists C++ names of kernels and variables, such as "add<float>".
	// Result.LoweredName returns their names in the PTX. Listing a template instantiates
	// it.
	NameExpressions []string
}

// Result is compiled code. The caller owns it.
type Result struct {
	// PTX is the generated PTX, without a trailing NUL.
	PTX []byte
	// Cubin is code for one architecture. It is nil unless Program.Arch is a real
	// architecture.
	Cubin []byte
	// Log holds the compiler's warnings and remarks. It is usually empty.
	Log string
	// Lowered maps each of Program.NameExpressions to its name in the PTX.
	Lowered map[string]string
	// Cached reports whether the result came from the cache.
	Cached bool
}

// Image returns the code to load into a context: the cubin if there is one, otherwise the
// PTX.
func (r *Result) Image() []byte {
	if r == nil {
		return nil
	}
	if len(r.Cubin) > 0 {
		return r.Cubin
	}
	return r.PTX
}

// LoweredName returns the name in the PTX for one of the program's NameExpressions. Pass
// it to driver.Module.Kernel.
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

// check returns an error for strings that C cannot represent and for contradictory
// settings.
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
