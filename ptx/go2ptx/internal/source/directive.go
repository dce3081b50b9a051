package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// Directives contains the //gpu: directives of a function. The package documentation describes
// them.
type Directives struct {
	Kernel    bool
	Pos       token.Pos // position of the kernel directive
	Block     [3]int    // zero if not specified
	MaxBlock  int
	Cluster   [3]int
	MinBlocks int
	MaxRegs   int
	Shared    int      // bytes of dynamic shared memory
	Restrict  []string // parameters with the restrict option
	// RestrictAll is true if the restrict option applies to all slices and pointers.
	RestrictAll bool
	Trap        bool
	NoFMA       bool
	Name        string
	Launcher    string // name of the launcher's Go type
	NoBounds    bool
	NoInline    bool
	Instances   []Instance
}

// Instance contains the type arguments of an instance as written in the directive.
type Instance struct {
	Types []ast.Expr
	Text  string
	Pos   token.Pos
}

// Restricted reports whether the restrict option applies to a parameter.
func (d *Directives) Restricted(param string) bool {
	return d.RestrictAll || slices.Contains(d.Restrict, param)
}

const prefix = "//gpu:"

// parseDirectives parses the directives above a function.
func parseDirectives(fset *token.FileSet, path string, decl *ast.FuncDecl) (Directives, Errors) {
	var d Directives
	var errs Errors
	if decl.Doc == nil {
		return d, nil
	}
	for _, c := range decl.Doc.List {
		rest, ok := strings.CutPrefix(c.Text, prefix)
		if !ok {
			if word := spaced(c.Text); word != "" {
				errs.Add(fset.PositionFor(c.Pos(), false), "a directive has no space after the slashes: write %s%s", prefix, word)
			}
			continue
		}
		p := directiveParser{&d, fset, path, c.Pos(), &errs}
		word, args, _ := strings.Cut(strings.TrimRight(rest, " \t\r"), " ")
		p.line(word, args, len(prefix)+len(word)+1)
	}
	if len(d.Instances) > 0 && !d.Kernel {
		errs.Add(fset.PositionFor(d.Instances[0].Pos, false), "//gpu:instance needs //gpu:kernel in the same comment")
	}
	return d, errs
}

// spaced returns the directive in a comment such as "// gpu:kernel", which is not a directive
// because of the space. It returns "" for other comments.
func spaced(comment string) string {
	text, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimPrefix(comment, "//"), " \t"), "gpu:")
	word, _, _ := strings.Cut(strings.TrimRight(text, " \t\r"), " ")
	if ok && slices.Contains([]string{"kernel", "instance", "nobounds", "noinline"}, word) {
		return word
	}
	return ""
}

type directiveParser struct {
	*Directives
	fset *token.FileSet
	path string    // import path of the package
	pos  token.Pos // position of the comment
	errs *Errors
}

func (p directiveParser) errorf(offset int, format string, args ...any) {
	p.errs.Add(p.fset.PositionFor(p.pos+token.Pos(offset), false), format, args...)
}

func (p directiveParser) line(word, args string, at int) {
	switch word {
	case "kernel":
		if p.Kernel {
			p.errorf(0, "the function has two //gpu:kernel directives; write one with all options")
			return
		}
		p.Kernel, p.Pos = true, p.pos
		p.options(args, at)
	case "instance":
		p.instances(args, at)
	case "nobounds":
		p.NoBounds = true
		p.none(word, args, at)
	case "noinline":
		p.NoInline = true
		p.none(word, args, at)
	case "unroll": // loopDirectives reports that it is not above a loop
	case "intrinsic", "host":
		if !strings.HasPrefix(p.path, library) {
			p.errorf(0, "only packages of the library declare intrinsics")
		}
	default:
		p.errorf(0, "unknown directive //gpu:%s; there are kernel, instance, nobounds and noinline", word)
	}
}

func (p directiveParser) none(word, args string, at int) {
	if strings.TrimSpace(args) != "" {
		p.errorf(at, "//gpu:%s has no options", word)
	}
}

// words yields the fields of s with their offsets.
func words(s string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		start := -1
		for i := 0; i <= len(s); i++ {
			space := i == len(s) || s[i] == ' ' || s[i] == '\t'
			if !space && start < 0 {
				start = i
			}
			if space && start >= 0 {
				if !yield(start, s[start:i]) {
					return
				}
				start = -1
			}
		}
	}
}

func (p directiveParser) options(args string, at int) {
	seen := map[string]bool{}
	for i, word := range words(args) {
		key, value, has := strings.Cut(word, "=")
		if seen[key] {
			p.errorf(at+i, "the option %s is given twice", key)
			continue
		}
		seen[key] = true
		if err := p.option(key, value, has); err != nil {
			p.errorf(at+i, "%v", err)
		}
	}
	if seen["block"] && seen["maxblock"] {
		p.errorf(0, "block fixes the size, so maxblock is superfluous; write one")
	}
}

func (p directiveParser) option(key, value string, has bool) (err error) {
	switch key {
	case "block":
		p.Block, err = extent(key, value, 1024)
	case "cluster":
		p.Cluster, err = extent(key, value, 16)
	case "maxblock":
		p.MaxBlock, err = number(key, value, 1, 1024)
	case "minblocks":
		p.MinBlocks, err = number(key, value, 1, 32)
	case "regs":
		p.MaxRegs, err = number(key, value, 16, 255)
	case "shared":
		p.Shared, err = number(key, value, 1, 1<<20)
	case "restrict":
		if !has {
			p.RestrictAll = true
			return nil
		}
		p.Restrict = strings.Split(value, ",")
	case "trap":
		p.Trap = true
		if has {
			return fmt.Errorf("trap has no value")
		}
	case "fma":
		p.NoFMA = true
		if value != "off" {
			return fmt.Errorf("write fma=off; fusing is on by default")
		}
	case "name":
		p.Name = value
		if !ptxName(value) {
			return fmt.Errorf("name=%s: a name in PTX consists of letters, digits, _ and $, and begins with a letter", value)
		}
	case "launcher":
		p.Launcher = value
		if !token.IsIdentifier(value) {
			return fmt.Errorf("launcher=%s: write a Go name", value)
		}
	default:
		return fmt.Errorf("unknown option %q; there are block, maxblock, cluster, minblocks, regs, shared, restrict, trap, fma, name and launcher", key)
	}
	return err
}

// extent parses dimensions such as 256, 16x16 or 8x8x8.
func extent(key, value string, most int) (e [3]int, err error) {
	parts := strings.Split(value, "x")
	if len(parts) > 3 {
		return e, fmt.Errorf("%s=%s: at most three sizes", key, value)
	}
	e = [3]int{1, 1, 1}
	product := 1
	for i, s := range parts {
		if e[i], err = number(key, s, 1, most); err != nil {
			return [3]int{}, err
		}
		product *= e[i]
	}
	if product > most {
		return [3]int{}, fmt.Errorf("%s=%s is %d in all, but at most %d are possible", key, value, product, most)
	}
	if key == "block" && e[2] > 64 {
		return [3]int{}, fmt.Errorf("%s=%s: the third size is at most 64", key, value)
	}
	return e, nil
}

func number(key, value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most || value != strconv.Itoa(n) {
		return 0, fmt.Errorf("%s=%s: write a number from %d to %d", key, value, least, most)
	}
	return n, nil
}

// ptxName reports whether s is a valid PTX identifier that the compiler does not use itself.
func ptxName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '_' && r != '$' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

func (p directiveParser) instances(args string, at int) {
	n := len(p.Instances)
	for i, word := range words(args) {
		in := Instance{Text: word, Pos: p.pos + token.Pos(at+i)}
		e, err := parser.ParseExpr("_[" + word + "]")
		if err != nil {
			msg := err.Error()
			if l, ok := err.(scanner.ErrorList); ok {
				msg = l[0].Msg
			}
			p.errorf(at+i, "%s is not a list of types separated by commas: %s", word, msg)
			continue
		}
		switch e := e.(type) {
		case *ast.IndexExpr:
			in.Types = []ast.Expr{e.Index}
		case *ast.IndexListExpr:
			in.Types = e.Indices
		default:
			p.errorf(at+i, "%s is not a list of types separated by commas", word)
			continue
		}
		p.Instances = append(p.Instances, in)
	}
	if len(p.Instances) == n && len(*p.errs) == 0 {
		p.errorf(at-1, "//gpu:instance needs types: //gpu:instance float32 num.F16")
	}
}

// stray reports directives that do not precede a function.
func stray(fset *token.FileSet, file *ast.File, opaque bool) (errs Errors) {
	docs := map[*ast.Comment]bool{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			note(docs, d.Doc)
		case *ast.GenDecl:
			if opaque {
				note(docs, d.Doc)
			}
		}
	}
	loopDirectives(fset, file, map[token.Pos]int{}, docs) // reports its errors elsewhere
	for _, g := range file.Comments {
		for _, c := range g.List {
			if strings.HasPrefix(c.Text, prefix) && !docs[c] {
				errs.Add(fset.PositionFor(c.Pos(), false), "the directive is not directly above a function")
			}
		}
	}
	return errs
}

func note(docs map[*ast.Comment]bool, g *ast.CommentGroup) {
	if g != nil {
		for _, c := range g.List {
			docs[c] = true
		}
	}
}
