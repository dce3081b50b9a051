package emit

import (
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// loc writes the position of the next instruction if it is not that of the last.
func (x *fn) loc(p ir.Pos) {
	if x.m.options.Lines == NoLines || p.Line <= 0 || p == x.at {
		return
	}
	x.at = p
	if x.m.options.Lines == SourceLines {
		// The line of the outermost call is in this function's own text only; the innermost says more.
		x.b.Loc(x.pos(p))
		return
	}
	x.inlined(p)
}

// inlined writes a position with its calls. A .loc refers to the place of a call by its position
// only, so the latest .loc of that position must be for the same chain of calls.
func (x *fn) inlined(p ir.Pos) {
	defer func() { x.places[without(p)] = p.Inline }()
	if p.Inline <= 0 || int(p.Inline) > len(x.m.ir.Inlines) {
		x.b.Loc(x.pos(p))
		return
	}
	in := x.m.ir.Inlines[p.Inline-1]
	if chain, ok := x.places[without(in.At)]; !ok || chain != in.At.Inline {
		x.inlined(in.At)
	}
	x.b.LocInlined(x.pos(p), in.Func, x.pos(in.At))
}

// without returns a position without its chain of calls.
func without(p ir.Pos) ir.Pos {
	p.Inline = 0
	return p
}

func (x *fn) pos(p ir.Pos) build.Pos {
	file := "unknown"
	if int(p.File) < len(x.m.ir.Files) {
		file = x.m.ir.Files[p.File]
	}
	return build.Pos{File: x.m.out.File(file), Line: int(p.Line), Col: int(p.Col)}
}
