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

// inlined writes a position with its calls. PTX requires that a .loc has named the place of a call
// before a .loc refers to it.
func (x *fn) inlined(p ir.Pos) {
	if p.Inline <= 0 || int(p.Inline) > len(x.m.ir.Inlines) {
		x.b.Loc(x.pos(p))
		return
	}
	in := x.m.ir.Inlines[p.Inline-1]
	if !x.chains[p.Inline] {
		x.chains[p.Inline] = true
		x.inlined(in.At)
	}
	x.b.LocInlined(x.pos(p), in.Func, x.pos(in.At))
}

func (x *fn) pos(p ir.Pos) build.Pos {
	file := "unknown"
	if int(p.File) < len(x.m.ir.Files) {
		file = x.m.ir.Files[p.File]
	}
	return build.Pos{File: x.m.out.File(file), Line: int(p.Line), Col: int(p.Col)}
}
