package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"modernc.org/cc/v4"
)

// The headers include stdlib.h and stdint.h. These replacements make the output independent of the
// host's headers.
const (
	stdlibH = "typedef unsigned long size_t;\n"
	stdintH = `typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef signed int int32_t;
typedef signed long int64_t;
`
	predefined = `#define __x86_64__ 1
#define __LP64__ 1
#define __STDC__ 1
#define __STDC_VERSION__ 201112L
#define __SIZE_TYPE__ unsigned long
#define __WCHAR_TYPE__ int
#define __PTRDIFF_TYPE__ long
#define __UINT16_TYPE__ unsigned short
#define __UINT32_TYPE__ unsigned int
#define __UINT64_TYPE__ unsigned long
`
)

// pass parses the headers under dir after the macro definitions in defines.
func pass(dir, defines string, headers ...string) (*cc.AST, error) {
	stubs, err := os.MkdirTemp("", "cudagen")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stubs)
	for name, text := range map[string]string{"stdlib.h": stdlibH, "stdint.h": stdintH} {
		if err := os.WriteFile(filepath.Join(stubs, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	abi, err := cc.NewABI("linux", "amd64")
	if err != nil {
		return nil, err
	}
	cfg := &cc.Config{
		ABI:             abi,
		SysIncludePaths: []string{dir, stubs},
		IncludePaths:    []string{dir, stubs},
		EvalAllMacros:   true,
		UnsignedEnums:   true,
	}
	source := defines
	for _, h := range headers {
		source += "#include <" + h + ">\n"
	}
	return cc.Translate(cfg, []cc.Source{
		{Name: "<predefined>", Value: predefined},
		{Name: "<builtin>", Value: cc.Builtin},
		{Name: "cudagen.c", Value: source},
	})
}

func load(dir string) (*api, error) {
	current, err := pass(dir, "", "cuda.h", "cudaProfiler.h")
	if err != nil {
		return nil, err
	}
	// The first macro makes the headers declare the older ABIs, as in the driver's own
	// build. The second macro removes sentinels from the enums.
	const internal = "#define __CUDA_API_VERSION_INTERNAL\n#define __CUDA_API_VERSION_INTERNAL_ODR\n"
	all, err := pass(dir, internal, "cudaTypedefs.h", "cudaProfiler.h", "cudaProfilerTypedefs.h")
	if err != nil {
		return nil, err
	}
	l := &loaderState{api: &api{typeNames: map[string]bool{}}}
	l.collectTypes(current)
	l.collectConstants(current, dir)
	groups, err := readGroups(dir)
	if err != nil {
		return nil, err
	}
	if err := l.collectFunctions(current, all, groups); err != nil {
		return nil, err
	}
	return l.api, nil
}

type loaderState struct {
	*api
}

// declarations yields all declarators at file scope in the CUDA headers.
func declarations(ast *cc.AST, yield func(decl *cc.Declaration, d *cc.Declarator)) {
	for tu := ast.TranslationUnit; tu != nil; tu = tu.TranslationUnit {
		ext := tu.ExternalDeclaration
		if ext == nil || ext.Case != cc.ExternalDeclarationDecl || !isCUDA(ext.Position().Filename) {
			continue
		}
		decl := ext.Declaration
		if decl.InitDeclaratorList == nil {
			yield(decl, nil)
			continue
		}
		for l := decl.InitDeclaratorList; l != nil; l = l.InitDeclaratorList {
			yield(decl, l.InitDeclarator.Declarator)
		}
	}
}

func isCUDA(file string) bool {
	return strings.HasPrefix(filepath.Base(file), "cuda") && strings.HasSuffix(file, ".h")
}

type position struct {
	file string
	line int
}

func positionOf(n cc.Node) position {
	p := n.Position()
	return position{filepath.Base(p.Filename), p.Line}
}

// readGroups maps each line of the headers to its documentation group.
func readGroups(dir string) (map[position]string, error) {
	groups := map[position]string{}
	define := regexp.MustCompile(`\\defgroup\s+(\w+)`)
	for _, name := range []string{"cuda.h", "cudaProfiler.h"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		var stack []string
		pending := ""
		scan := bufio.NewScanner(f)
		scan.Buffer(nil, 1<<20)
		for line := 1; scan.Scan(); line++ {
			text := scan.Text()
			if m := define.FindStringSubmatch(text); m != nil {
				pending = m[1]
			}
			if strings.Contains(text, "@{") {
				stack = append(stack, pending)
			}
			if strings.Contains(text, "@}") && len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
			if len(stack) > 0 {
				groups[position{name, line}] = stack[len(stack)-1]
			}
		}
		if err := scan.Err(); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

var (
	versionSuffix = regexp.MustCompile(`^(cu\w+?)(?:_v(\d+))?$`)
	pfnName       = regexp.MustCompile(`^PFN_(cu\w+?)_v(\d+)$`)
)

// abi is one version of a function, with its own exported symbol.
type abi struct {
	symbol string
	decl   *cc.Declaration
	d      *cc.Declarator
	number int // number in the symbol's suffix; 1 for a symbol without suffix
}

// collectFunctions finds the current functions and the older ABIs that are needed, and the CUDA
// version that introduced each.
func (l *loaderState) collectFunctions(current, all *cc.AST, groups map[position]string) error {
	abis := map[string][]abi{} // ABIs by base name, oldest first
	sinces := map[string][]pfn{}
	seen := map[string]bool{}
	collect := func(decl *cc.Declaration, d *cc.Declarator) {
		if d == nil {
			return
		}
		name := d.Name()
		if m := pfnName.FindStringSubmatch(name); m != nil && d.IsTypename() {
			v, _ := strconv.Atoi(m[2])
			sinces[m[1]] = append(sinces[m[1]], pfn{v, d.Type()})
			return
		}
		if d.IsTypename() || d.Type().Kind() != cc.Function || !strings.HasPrefix(name, "cu") || seen[name] {
			return
		}
		if strings.HasSuffix(name, "_ptsz") || strings.HasSuffix(name, "_ptds") {
			return
		}
		seen[name] = true
		m := versionSuffix.FindStringSubmatch(name)
		n := 1
		if m[2] != "" {
			n, _ = strconv.Atoi(m[2])
		}
		abis[m[1]] = append(abis[m[1]], abi{name, decl, d, n})
	}
	declarations(current, collect)
	isCurrent := map[string]bool{}
	for s := range seen {
		isCurrent[s] = true
	}
	declarations(all, collect)

	for base, list := range abis {
		slices.SortFunc(list, func(a, b abi) int { return cmp.Compare(a.number, b.number) })
		versions := sinces[base]
		slices.SortStableFunc(versions, func(a, b pfn) int { return cmp.Compare(a.version, b.version) })
		matched, err := match(base, list, versions)
		if err != nil {
			return err
		}
		group := groupOf[base]
		for _, a := range list {
			if isCurrent[a.symbol] {
				group = groups[positionOf(a.decl)]
			}
		}
		// The first current symbol gets the plain name. If the header declares another current
		// symbol, its method has the symbol's full name, as in C.
		plain := true
		for i, a := range list {
			f := &function{
				name: base, base: base, symbol: a.symbol, since: matched[i].version, group: group,
				proto: prototype(a.decl), line: a.d.Position().Line,
			}
			switch {
			case isCurrent[a.symbol] && plain:
				plain = false
			case isCurrent[a.symbol]:
				f.name = a.symbol
			case needed(base, list, matched, i):
				f.name = fmt.Sprintf("%s_v%d", base, f.since)
				f.older = true
			default:
				continue
			}
			f.proto = strings.Replace(f.proto, a.symbol+"(", f.name+"(", 1)
			if err := l.collectParams(f, a.d); err != nil {
				return err
			}
			l.functions = append(l.functions, f)
		}
	}
	slices.SortFunc(l.functions, func(a, b *function) int { return cmp.Compare(a.symbol, b.symbol) })
	return nil
}

type pfn struct {
	version int
	typ     cc.Type
}

// match pairs each ABI with its version in cudaTypedefs.h. Both lists are in order of
// introduction and must have the same parameters.
func match(base string, list []abi, versions []pfn) ([]pfn, error) {
	if len(list) != len(versions) {
		return nil, fmt.Errorf("%s: %d ABIs in cuda.h, %d versions in cudaTypedefs.h", base, len(list), len(versions))
	}
	for i, v := range versions {
		fn, ok := v.typ.(*cc.PointerType).Elem().(*cc.FunctionType)
		if !ok {
			return nil, fmt.Errorf("%s: version %d is not a function", base, v.version)
		}
		if a, b := shape(list[i].d.Type().(*cc.FunctionType)), shape(fn); a != b {
			return nil, fmt.Errorf("%s takes (%s), version %d takes (%s)", list[i].symbol, a, v.version, b)
		}
	}
	return versions, nil
}

// shape describes the kinds and sizes of a function's parameters, which determine its ABI.
func shape(t *cc.FunctionType) string {
	var b strings.Builder
	for _, p := range t.Parameters() {
		fmt.Fprintf(&b, "%v:%d ", p.Type().Kind(), p.Type().Size())
	}
	return strings.TrimSpace(b.String())
}

// oldestDriver is the CUDA version of the oldest supported driver.
const oldestDriver = 11040

// wanted lists older ABIs that no supported driver requires but that programs use: the plain form
// of context creation, the forms of instantiation that return a log, and the short capture query.
var wanted = map[string]bool{
	"cuCtxCreate_v2": true, "cuGraphInstantiate": true, "cuGraphInstantiate_v2": true,
	"cuStreamGetCaptureInfo": true,
}

// needed reports whether the older ABI i is in wanted, or is the newest ABI of the function in some
// supported driver.
func needed(base string, list []abi, versions []pfn, i int) bool {
	if wanted[list[i].symbol] {
		return true
	}
	return i+1 < len(list) && versions[i+1].version > oldestDriver
}

// groupOf supplements the header, which has no group for the older forms of
// cuGraphInstantiateWithFlags.
var groupOf = map[string]string{"cuGraphInstantiate": "CUDA_GRAPH"}

// source returns the text of a node. A macro expansion does not contain the white space
// before it, so source adds a space between two words.
func source(n cc.Node) string {
	var b strings.Builder
	word := func(c byte) bool {
		return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
	}
	last := byte(' ')
	for _, t := range cc.NodeTokens(n) {
		src := t.Src()
		if len(src) == 0 {
			continue
		}
		if len(t.Sep()) != 0 || word(last) && word(src[0]) {
			b.WriteByte(' ')
		}
		b.Write(src)
		last = src[len(src)-1]
	}
	return b.String()
}

func prototype(decl *cc.Declaration) string {
	s := strings.Join(strings.Fields(source(decl)), " ")
	for _, r := range [][2]string{{" ,", ","}, {"( ", "("}, {" )", ")"}, {" ;", ";"}, {"* ", "*"}, {" (", "("}} {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return strings.TrimSuffix(s, ";")
}
