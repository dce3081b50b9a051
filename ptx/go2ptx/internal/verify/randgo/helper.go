package randgo

import (
	"fmt"
	"strings"
)

// helper is a generated function that the kernel calls.
type helper struct {
	name   string
	params []typ
	slice  typ // element type of the last parameter if it is a slice, otherwise empty
	result typ
}

// functions generates the helpers.
func (g *gen) functions() {
	for range g.n(3) {
		h := helper{name: g.fresh(g.name + "h"), result: g.anyType()}
		var params []string
		g.vars, g.arrays = nil, []array{{"primes", "uint16", 12, true, false}, {"waves", "float32", 6, true, false}}
		for i := range 1 + g.n(4) {
			v := variable{name: g.fresh("v"), t: g.anyType()}
			if i == 0 {
				v.t = "int" // so that it can be used in indices
			}
			h.params = append(h.params, v.t)
			params = append(params, v.name+" "+string(v.t))
			g.vars = append(g.vars, v)
		}
		if g.chance(40) {
			h.slice = pick(g, []typ{"int32", "int64", "uint8", "int16", "float32", "float64"})
			params = append(params, "s []"+string(h.slice))
			g.arrays = append(g.arrays, array{"s", h.slice, 0, true, false})
		}
		g.body.Reset()
		g.budget, g.indent = 12, 0
		if g.chance(30) {
			g.use("function that is not inlined")
			g.line("//gpu:noinline")
		}
		g.line("func %s(%s) %s {", h.name, strings.Join(params, ", "), h.result)
		g.block(2 + g.n(4))
		if g.chance(40) {
			g.line("\tif %s {", g.cond(1))
			g.line("\t\treturn %s", g.expr(h.result, 2))
			g.line("\t}")
		}
		g.line("\treturn %s", g.expr(h.result, 2))
		g.line("}\n")
		g.out.WriteString(g.body.String())
		g.helpers = append(g.helpers, h)
	}
}

// helperCall returns a call of a helper whose result has type t.
func (g *gen) helperCall(t typ, depth int) (string, bool) {
	if len(g.helpers) == 0 {
		return "", false
	}
	h := pick(g, g.helpers)
	var args []string
	for _, p := range h.params {
		args = append(args, g.expr(p, depth-2))
	}
	if h.slice != "" {
		name := ""
		for _, a := range g.arrays {
			if a.elem == h.slice && a.len == 0 && !a.short {
				name = a.name
			}
		}
		if name == "" {
			return "", false
		}
		args = append(args, name)
	}
	g.use("call of a function")
	return g.convert(fmt.Sprintf("%s(%s)", h.name, strings.Join(args, ", ")), h.result, t), true
}
