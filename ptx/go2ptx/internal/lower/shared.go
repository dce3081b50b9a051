package lower

import (
	"go/token"
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// header is a shared variable that contains slices, pointers or strings. A thread must set them
// before use.
type header struct {
	v   *ir.Var
	pos token.Pos
	typ types.Type
}

// checkHeaders reports an error for each shared variable with slices, pointers or strings that no
// code sets. In most cases, the author expected gpu.Shared[[]T] to return memory for the elements.
func (l *lowerer) checkHeaders() {
	for _, h := range l.headers {
		if l.sets(h.v) {
			continue
		}
		kind, elem := headerIn(h.typ)
		advice := "set it in one thread, before a barrier"
		if elem != nil {
			t := l.typeName(elem)
			advice = "use gpu.Shared[[N]" + t + "] with a constant N, or gpu.DynamicShared[" + t + "]"
		}
		l.errorf(h.pos, "shared-unset", kind, advice)
	}
}

// headerIn returns the kind of pointer that a type contains: "slice", "pointer", "string", or "" if
// there is none. For a slice, it also returns the element type.
func headerIn(t types.Type) (kind string, elem types.Type) {
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return "slice", u.Elem()
	case *types.Pointer:
		return "pointer", nil
	case *types.Basic:
		if u.Info()&types.IsString != 0 {
			return "string", nil
		}
	case *types.Array:
		return headerIn(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			if kind, elem = headerIn(u.Field(i).Type()); kind != "" {
				return kind, elem
			}
		}
	}
	return "", nil
}

// sets reports whether the module may write to a variable.
func (l *lowerer) sets(v *ir.Var) bool {
	for _, f := range l.mod.Funcs {
		addresses := map[*ir.Value]bool{}
		for changed := true; changed; {
			changed = false
			for _, b := range f.Blocks {
				for _, x := range b.Values {
					if !addresses[x] && (x.Op == ir.OpGlobal && x.Var == v || derives(x, addresses)) {
						addresses[x], changed = true, true
					}
				}
			}
		}
		for _, b := range f.Blocks {
			for _, x := range b.Values {
				if !addresses[x] && x.Op != ir.OpLoad && x.Op != ir.OpLoadV && x.Op != ir.OpICmp && uses(x.Args, addresses) {
					return true
				}
			}
			if uses(b.Term.Results, addresses) {
				return true
			}
		}
	}
	return false
}

// derives reports whether a value is an address computed from one of the given addresses.
func derives(x *ir.Value, addresses map[*ir.Value]bool) bool {
	switch x.Op {
	case ir.OpPtrAdd, ir.OpSpaceCast, ir.OpCopy, ir.OpPhi, ir.OpSelect:
		return uses(x.Args, addresses)
	}
	return false
}

func uses(list []*ir.Value, addresses map[*ir.Value]bool) bool {
	for _, x := range list {
		if addresses[x] {
			return true
		}
	}
	return false
}
