package lower

import (
	"cmp"
	"go/types"
	"slices"
	"strings"
)

// targs maps the type parameters of a generic function to the type arguments of an instance, which
// contain no type parameters.
type targs map[*types.TypeParam]types.Type

// subst replaces type parameters with type arguments. It returns types without type parameters
// unchanged, so that identical types usually remain the same pointer.
func (l *lowerer) subst(t types.Type, env targs) types.Type {
	if len(env) == 0 || t == nil {
		return t
	}
	s := substituter{l: l, env: env}
	return s.typ(t)
}

type substituter struct {
	l     *lowerer
	env   targs
	depth int
}

func (s *substituter) typ(t types.Type) types.Type {
	// Only a type that expands indefinitely is nested this deeply.
	if s.depth++; s.depth > 100 {
		return types.Typ[types.Invalid]
	}
	defer func() { s.depth-- }()
	switch t := t.(type) {
	case *types.TypeParam:
		if r, ok := s.env[t]; ok {
			return r
		}
	case *types.Alias:
		return s.typ(types.Unalias(t))
	case *types.Pointer:
		if e := s.typ(t.Elem()); e != t.Elem() {
			return types.NewPointer(e)
		}
	case *types.Slice:
		if e := s.typ(t.Elem()); e != t.Elem() {
			return types.NewSlice(e)
		}
	case *types.Array:
		if e := s.typ(t.Elem()); e != t.Elem() {
			return types.NewArray(e, t.Len())
		}
	case *types.Struct:
		return s.structure(t)
	case *types.Tuple:
		return s.tuple(t)
	case *types.Signature:
		p, r := s.tuple(t.Params()), s.tuple(t.Results())
		if p != t.Params() || r != t.Results() {
			return types.NewSignatureType(nil, nil, nil, p, r, t.Variadic())
		}
	case *types.Named:
		return s.named(t)
	}
	return t
}

func (s *substituter) structure(t *types.Struct) types.Type {
	changed := false
	fields := make([]*types.Var, t.NumFields())
	tags := make([]string, t.NumFields())
	for i := range fields {
		f := t.Field(i)
		fields[i], tags[i] = f, t.Tag(i)
		if e := s.typ(f.Type()); e != f.Type() {
			fields[i] = types.NewField(f.Pos(), f.Pkg(), f.Name(), e, f.Embedded())
			changed = true
		}
	}
	if !changed {
		return t
	}
	return types.NewStruct(fields, tags)
}

func (s *substituter) tuple(t *types.Tuple) *types.Tuple {
	changed := false
	vars := make([]*types.Var, t.Len())
	for i := range vars {
		v := t.At(i)
		vars[i] = v
		if e := s.typ(v.Type()); e != v.Type() {
			vars[i] = types.NewParam(v.Pos(), v.Pkg(), v.Name(), e)
			changed = true
		}
	}
	if !changed {
		return t
	}
	return types.NewTuple(vars...)
}

func (s *substituter) named(t *types.Named) types.Type {
	if args := t.TypeArgs(); args != nil {
		changed := false
		list := make([]types.Type, args.Len())
		for i := range list {
			list[i] = s.typ(args.At(i))
			changed = changed || list[i] != args.At(i)
		}
		if !changed {
			return t
		}
		r, err := types.Instantiate(s.l.ctxt, t.Origin(), list, false)
		if err != nil {
			return types.Typ[types.Invalid]
		}
		return r
	}
	if isLocal(t) {
		return s.local(t)
	}
	return t
}

// isLocal reports whether t is declared in a function, where it can refer to the function's type
// parameters.
func isLocal(t *types.Named) bool {
	o := t.Obj()
	return o.Pkg() != nil && o.Parent() != nil && o.Parent() != o.Pkg().Scope()
}

type localKey struct {
	t   *types.Named
	env string
}

func (s *substituter) local(t *types.Named) types.Type {
	key := localKey{t, s.l.envText(s.env)}
	if r, ok := s.l.locals[key]; ok {
		return r
	}
	r := types.NewNamed(types.NewTypeName(t.Obj().Pos(), t.Obj().Pkg(), t.Obj().Name(), nil), nil, nil)
	s.l.locals[key] = r // stored before the fields are replaced, because the type may contain a pointer to itself
	u := s.typ(t.Underlying())
	if u == t.Underlying() {
		s.l.locals[key] = t
		return t
	}
	r.SetUnderlying(u)
	return r
}

// envText returns a string that identifies an environment.
func (l *lowerer) envText(env targs) string {
	text := ""
	for _, p := range sortedParams(env) {
		text += types.TypeString(p.Constraint(), nil) + p.Obj().Name() + "=" + l.typeName(env[p]) + ";"
	}
	return text
}

// typeName returns the same string for identical types.
func (l *lowerer) typeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return p.Path() })
}

// sortedParams returns the type parameters of an environment in a fixed order.
func sortedParams(env targs) []*types.TypeParam {
	list := make([]*types.TypeParam, 0, len(env))
	for p := range env {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *types.TypeParam) int {
		return cmp.Or(cmp.Compare(a.Obj().Pos(), b.Obj().Pos()), strings.Compare(a.Obj().Name(), b.Obj().Name()))
	})
	return list
}
