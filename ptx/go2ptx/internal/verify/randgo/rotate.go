package randgo

import "fmt"

// rotated returns shifts of one or two values that make a rotation or a funnel shift together, or only
// look like one.
func (g *gen) rotated(t typ, a string) string {
	g.use("rotation by shifts")
	width := 32 + 32*g.n(2)
	u := fmt.Sprintf("uint%d", width)
	a = fmt.Sprintf("%s(%s)", u, a)
	b := a
	op := pick(g, []string{"|", "|", "^", "+"})
	if g.chance(40) { // the count is known only at run time
		x := g.fresh("x")
		count := fmt.Sprintf("%s(%s)&%s", pick(g, []string{"uint32", "uint", "uint8"}), g.atom(pick(g, ints)), pick(g, []string{"31", "31", "3", "63"}))
		left, right := "<<", ">>"
		if g.chance(50) {
			left, right = right, left
		}
		y := x
		if g.chance(40) {
			y = fmt.Sprintf("%s(%s)", u, g.atom(pick(g, ints)))
		}
		return fmt.Sprintf("%s(func() %s { %s, n := %s, %s; return %s %s n %s %s %s (%d-n) }())", t, u, x, a, count, x, left, op, y, right, width)
	}
	if g.chance(40) {
		b = fmt.Sprintf("%s(%s)", u, g.atom(pick(g, ints)))
	}
	n := 1 + g.n(width-1)
	if g.chance(15) {
		n = 32
	}
	m := width - n
	if g.chance(15) {
		m = 1 + g.n(width-1)
	}
	if g.chance(50) {
		return fmt.Sprintf("%s((%s << %d) %s (%s >> %d))", t, a, n, op, b, m)
	}
	return fmt.Sprintf("%s((%s >> %d) %s (%s << %d))", t, a, m, op, b, n)
}
