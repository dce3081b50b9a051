package source

import (
	"bytes"
	"go/ast"
	"go/token"
	"strings"
)

const unrollDirective = prefix + "unroll"

// maxUnroll is the largest number in an unroll directive.
const maxUnroll = 128

// loopDirectives adds the numbers in the unroll directives of a file to unroll, by the positions of the
// for keywords. It adds the comments to used, and reports those that are incorrect or not directly
// above a loop.
func loopDirectives(fset *token.FileSet, file *ast.File, unroll map[token.Pos]int, used map[*ast.Comment]bool) (errs Errors) {
	loops := map[int]token.Pos{} // by the line of the loop or of its label
	line := func(pos token.Pos) int { return fset.PositionFor(pos, false).Line }
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.LabeledStmt:
			if pos := loopPos(n.Stmt); pos.IsValid() {
				loops[line(n.Pos())] = pos
			}
		case ast.Stmt:
			if pos := loopPos(n); pos.IsValid() {
				loops[line(pos)] = pos
			}
		}
		return true
	})
	for _, g := range file.Comments {
		for _, c := range g.List {
			word, args, _ := strings.Cut(strings.TrimRight(c.Text, " \t\r"), " ")
			if word != unrollDirective {
				continue
			}
			used[c] = true
			at := fset.PositionFor(c.Pos(), false)
			loop, ok := loops[line(g.End())+1]
			if !ok {
				errs.Add(at, "//gpu:unroll is not directly above a loop")
				continue
			}
			n, err := number("n", strings.TrimSpace(args), 0, maxUnroll)
			if err != nil {
				errs.Add(at, "//gpu:unroll n: write a number from 0 to %d; 0 and 1 mean that the loop is not unrolled", maxUnroll)
				continue
			}
			unroll[loop] = max(n, 1)
		}
	}
	return errs
}

func loopPos(s ast.Stmt) token.Pos {
	switch s := s.(type) {
	case *ast.ForStmt:
		return s.For
	case *ast.RangeStmt:
		return s.For
	}
	return token.NoPos
}

// Unroll returns the number of an unroll directive above the loop with this position. It is at least 1,
// or 0 if there is no directive.
func (p *Program) Unroll(loop token.Pos) int { return p.unroll[loop] }

// loopDirectives returns the unroll directives of all packages.
func (l *loader) loopDirectives() map[token.Pos]int {
	all := map[token.Pos]int{}
	for _, u := range l.order {
		for _, f := range u.files {
			if f.syntax != nil && bytes.Contains(f.data, []byte(unrollDirective)) {
				l.errs = append(l.errs, loopDirectives(l.fset, f.syntax, all, map[*ast.Comment]bool{})...)
			}
		}
	}
	return all
}
