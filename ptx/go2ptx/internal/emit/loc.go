package emit

import (
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// loc emits a .loc directive for position p unless p is already the current position.
func (x *fn) loc(p ir.Pos) {
	if x.m.options.Lines == NoLines || p.Line <= 0 || p == x.at {
		return
	}
	x.at = p
	if x.m.options.Lines == SourceLines {
		// Without call chains, only the innermost position is useful: it is where the code really
		// comes from.
		x.b.Loc(x.pos(p))
		return
	}
	x.inlined(p)
}

// inlined emits a .loc directive with the call chain of p. PTX identifies an inlined call by its
// position alone. The latest .loc for that position must therefore belong to the same call chain,
// so inlined emits it again if necessary.
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

// without returns p without its call chain.
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
