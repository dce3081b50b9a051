package lower

import (
	"go/types"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

const (
	pathGPU = "github.com/purecuda/cuda/ptx/gpu"
	pathNum = "github.com/purecuda/cuda/ptx/num"
)

// maxLeaves is the maximum number of leaves of a variable that is kept in registers. A larger
// variable gets a slot.
const maxLeaves = 64

// A kind tells how a leaf is represented.
type kind uint8

const (
	scalar  kind = iota
	pointer      // an *ir.Value or a place
	text         // the pointer of a string: an *ir.Value or a constString
	function
	iface
)

// leafType is the type of a leaf, a scalar part of a Go value.
type leafType struct {
	kind kind
	len  ir.Len
	mem  ir.Mem // MNone for functions and interfaces
	typ  types.Type
}

// layout describes the scalar parts of a type. For an array, it describes only one element.
type layout struct {
	leaves int // number of scalar parts
	size   int64
	align  int64

	leaf   *leafType // for a scalar
	fields []field   // for a struct, or the parts of a slice and the like
	elem   *layout   // for an array
	n      int64
	err    string // the reason why the type cannot be used in a kernel
}

type field struct {
	first  int // index of the first leaf
	offset int64
	*layout
}

func (l *lowerer) layout(t types.Type) *layout {
	if lay, ok := l.layouts[t]; ok {
		return lay
	}
	lay := l.newLayout(t)
	l.layouts[t] = lay
	return lay
}

func scalarLayout(k kind, m ir.Mem, t types.Type) *layout {
	return &layout{leaves: 1, size: int64(m.Size()), align: int64(m.Size()), leaf: &leafType{kind: k, mem: m, typ: t}}
}

func zeroSize(t types.Type) bool {
	switch u := under(t).(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			if !zeroSize(u.Field(i).Type()) {
				return false
			}
		}
		return true
	case *types.Array:
		return u.Len() == 0 || zeroSize(u.Elem())
	}
	return false
}

func lengthLayout(n ir.Len) *layout {
	lay := scalarLayout(scalar, ir.M64, types.Typ[types.Int])
	lay.leaf.len = n
	return lay
}

func composed(parts ...*layout) *layout {
	lay := &layout{align: 1}
	for _, p := range parts {
		lay.size = (lay.size + p.align - 1) / p.align * p.align
		lay.fields = append(lay.fields, field{lay.leaves, lay.size, p})
		lay.leaves += p.leaves
		lay.size += p.size
		lay.align = max(lay.align, p.align)
		if lay.err == "" {
			lay.err = p.err
		}
	}
	// If the last field has size 0, Go adds a byte so that the field's address is within the
	// struct.
	if n := len(parts); n > 0 && parts[n-1].size == 0 && lay.size > 0 {
		lay.size++
	}
	lay.size = (lay.size + lay.align - 1) / lay.align * lay.align
	return lay
}

// isNamed reports whether t is the named type path.name or an instance of it.
func isNamed(t types.Type, path, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == path
}

func (l *lowerer) newLayout(t types.Type) *layout {
	switch {
	case isNamed(t, pathGPU, "Thread"):
		return &layout{align: 1}
	case isNamed(t, pathNum, "F16"):
		return scalarLayout(scalar, ir.MF16, t)
	case isNamed(t, pathNum, "BF16"):
		return scalarLayout(scalar, ir.MBF16, t)
	case isNamed(t, pathNum, "E4M3"), isNamed(t, pathNum, "E5M2"):
		return scalarLayout(scalar, ir.MU8, t)
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return l.basic(u, t)
	case *types.Pointer:
		return scalarLayout(pointer, ir.MPtr, t)
	case *types.Slice:
		ptr := scalarLayout(pointer, ir.MPtr, types.NewPointer(u.Elem()))
		if zeroSize(u.Elem()) {
			return composed(ptr, lengthLayout(ir.NoLen), lengthLayout(ir.NoLen)) // elements of size 0: the address space does not limit the length
		}
		return composed(ptr, lengthLayout(ir.Length), lengthLayout(ir.Capacity))
	case *types.Signature:
		return &layout{leaves: 1, size: 8, align: 8, leaf: &leafType{kind: function, typ: t}}
	case *types.Interface:
		return &layout{leaves: 1, size: 16, align: 8, leaf: &leafType{kind: iface, typ: t}}
	case *types.Struct:
		parts := make([]*layout, u.NumFields())
		for i := range parts {
			parts[i] = l.layout(u.Field(i).Type())
		}
		return composed(parts...)
	case *types.Tuple:
		parts := make([]*layout, u.Len())
		for i := range parts {
			parts[i] = l.layout(u.At(i).Type())
		}
		return composed(parts...)
	case *types.Array:
		e := l.layout(u.Elem())
		lay := &layout{align: e.align, elem: e, n: u.Len(), err: e.err}
		const limit = 1 << 40
		if e.size > 0 && u.Len() > limit/e.size || u.Len() > limit {
			lay.err = "an array of more than 1 TiB"
			return lay
		}
		lay.size, lay.leaves = e.size*u.Len(), e.leaves*int(u.Len())
		return lay
	}
	return &layout{align: 1, err: refusedType(t)}
}

func (l *lowerer) basic(b *types.Basic, t types.Type) *layout {
	switch b.Kind() {
	case types.Bool, types.UntypedBool:
		return scalarLayout(scalar, ir.MBool, t)
	case types.Int8:
		return scalarLayout(scalar, ir.MS8, t)
	case types.Uint8:
		return scalarLayout(scalar, ir.MU8, t)
	case types.Int16:
		return scalarLayout(scalar, ir.MS16, t)
	case types.Uint16:
		return scalarLayout(scalar, ir.MU16, t)
	case types.Int32, types.Uint32, types.UntypedRune:
		return scalarLayout(scalar, ir.M32, t)
	case types.Int64, types.Uint64, types.Int, types.Uint, types.Uintptr, types.UntypedInt:
		return scalarLayout(scalar, ir.M64, t)
	case types.Float32:
		return scalarLayout(scalar, ir.MF32, t)
	case types.Float64, types.UntypedFloat:
		return scalarLayout(scalar, ir.MF64, t)
	case types.Complex64:
		f := scalarLayout(scalar, ir.MF32, types.Typ[types.Float32])
		return composed(f, f)
	case types.Complex128, types.UntypedComplex:
		f := scalarLayout(scalar, ir.MF64, types.Typ[types.Float64])
		return composed(f, f)
	case types.String, types.UntypedString:
		return composed(scalarLayout(text, ir.MPtr, types.NewPointer(types.Typ[types.Uint8])), scalarLayout(scalar, ir.M64, types.Typ[types.Int]))
	}
	return &layout{align: 1, err: refusedType(t)}
}

// at returns the type of a leaf and its offset in memory.
func (lay *layout) at(leaf int) (*leafType, int64) {
	var offset int64
	for lay.leaf == nil {
		if lay.elem != nil {
			i := leaf / lay.elem.leaves
			offset += int64(i) * lay.elem.size
			leaf -= i * lay.elem.leaves
			lay = lay.elem
			continue
		}
		i := len(lay.fields) - 1
		for lay.fields[i].first > leaf || lay.fields[i].leaves == 0 {
			i--
		}
		offset += lay.fields[i].offset
		leaf -= lay.fields[i].first
		lay = lay.fields[i].layout
	}
	return lay.leaf, offset
}

// offsetOf returns the memory offset of the part that starts at a leaf. Unlike at, it also accepts
// the number of leaves, for the end of the value.
func (lay *layout) offsetOf(leaf int) int64 {
	if leaf >= lay.leaves {
		return lay.size
	}
	_, offset := lay.at(leaf)
	return offset
}

func (lay *layout) big() bool { return lay.leaves > maxLeaves }

// static reports whether values of the type contain functions or interfaces, which exist only at
// compile time.
func (lay *layout) static() bool {
	switch {
	case lay.leaf != nil:
		return lay.leaf.kind == function || lay.leaf.kind == iface
	case lay.elem != nil:
		return lay.n > 0 && lay.elem.static()
	}
	for _, f := range lay.fields {
		if f.static() {
			return true
		}
	}
	return false
}

// regType returns the type of the register that contains the leaf.
func (t *leafType) regType() ir.Type {
	if t.kind == pointer || t.kind == text {
		return ir.TPtr
	}
	return t.mem.Type()
}
