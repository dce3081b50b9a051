package main

import (
	"fmt"
	"math"
	"math/big"
)

// prec is the precision of all computations.
const prec = 260

// A fit describes a polynomial to find.
type fit struct {
	name   string
	doc    string
	lo, hi float64
	degree int
	// target is the function that the polynomial approximates. weight is the factor that converts
	// the polynomial's error to the error to be minimized.
	target func(x *big.Float) *big.Float
	weight func(x *big.Float) *big.Float
	// bits is the precision of the coefficients: 24 or 53. The first coefficients, pairs in number,
	// are sums of two numbers.
	bits, pairs int
}

// A result is a fit's polynomial with rounded coefficients.
type result struct {
	high, low []float64 // low is set only for the coefficients that are pairs
	err       float64   // largest weighted error of the rounded polynomial
}

func number(x float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(x) }
func zero() *big.Float            { return new(big.Float).SetPrec(prec) }

// A grid holds the target and the weight of a fit at points that are denser near the ends.
type grid struct{ x, f, w []*big.Float }

func sample(t fit) grid {
	n := 40 * (t.degree + 2)
	var g grid
	for i := range n {
		c := -math.Cos(math.Pi * float64(i) / float64(n-1))
		x := number((t.lo+t.hi)/2 + (t.hi-t.lo)/2*c)
		switch i {
		case 0:
			x = number(t.lo)
		case n - 1:
			x = number(t.hi)
		}
		if x.Sign() == 0 {
			x = number((t.hi - t.lo) * 0x1p-40)
		}
		g.x, g.f, g.w = append(g.x, x), append(g.f, t.target(x)), append(g.w, t.weight(x))
	}
	return g
}

// run finds the polynomial. The coefficients are rounded one by one, from the constant term
// upwards, and the remaining coefficients are fitted again after each step.
func run(t fit) result {
	g := sample(t)
	residual := append([]*big.Float(nil), g.f...)
	var r result
	for k := 0; k <= t.degree; k++ {
		solution := remez
		if k > 0 && t.lo < 0 {
			solution = lawson
		}
		c := solution(g, residual, k, t.degree)
		var rounded *big.Float
		h := roundTo(c[0], t.bits)
		rounded = number(h)
		r.high = append(r.high, h)
		if k < t.pairs {
			l := roundTo(zero().Sub(c[0], rounded), t.bits)
			rounded = zero().Add(rounded, number(l))
			r.low = append(r.low, l)
		}
		for i := range residual {
			residual[i] = zero().Sub(residual[i], zero().Mul(rounded, power(g.x[i], k)))
		}
	}
	for i := range residual {
		e, _ := zero().Mul(residual[i], g.w[i]).Float64()
		r.err = max(r.err, math.Abs(e))
	}
	return r
}

func roundTo(x *big.Float, bits int) float64 {
	if bits == 24 {
		f, _ := x.Float32()
		return float64(f)
	}
	f, _ := x.Float64()
	return f
}

func power(x *big.Float, k int) *big.Float {
	p := number(1)
	for range k {
		p.Mul(p, x)
	}
	return p
}

// remez returns the coefficients of the terms from x^first to x^last for which the largest
// weighted error on the grid is smallest.
func remez(g grid, f []*big.Float, first, last int) []*big.Float {
	n := last - first + 2
	points := make([]int, n)
	for i := range points {
		points[i] = i * (len(g.x) - 1) / (n - 1)
	}
	powers := make([][]*big.Float, len(g.x))
	for i, x := range g.x {
		p := power(x, first)
		for range n - 1 {
			powers[i] = append(powers[i], p)
			p = zero().Mul(p, x)
		}
	}
	errors := make([]*big.Float, len(g.x))
	for range 60 {
		c := solve(g, f, powers, points)
		for i := range g.x {
			sum := zero().Set(f[i])
			for j, p := range powers[i] {
				sum.Sub(sum, zero().Mul(c[j], p))
			}
			errors[i] = sum.Mul(sum, g.w[i])
		}
		level := zero().Abs(c[n-1])
		next, worst := exchange(errors, n)
		if next == nil {
			return c[:n-1]
		}
		points = next
		limit := zero().Mul(level, number(1.0001))
		if worst.Cmp(limit) <= 0 {
			return c[:n-1]
		}
	}
	return solve(g, f, powers, points)[:n-1]
}

// solve returns the coefficients of the polynomial whose weighted error alternates at the points.
// The last element of the result is that error.
func solve(g grid, f []*big.Float, powers [][]*big.Float, points []int) []*big.Float {
	n := len(points)
	rows := make([][]*big.Float, n)
	for i, p := range points {
		row := make([]*big.Float, 0, n+1)
		for _, q := range powers[p] {
			row = append(row, zero().Mul(q, g.w[p]))
		}
		sign := number(1 - 2*float64(i%2))
		rows[i] = append(row, sign, zero().Mul(f[p], g.w[p]))
	}
	return eliminate(rows)
}

// exchange returns n points at which the errors alternate and are large, and the largest error.
// It returns nil if the errors have too few changes of sign.
func exchange(errors []*big.Float, n int) (points []int, worst *big.Float) {
	worst = zero()
	magnitude := func(i int) *big.Float { return zero().Abs(errors[i]) }
	for i := range errors {
		if errors[i].Sign() == 0 {
			continue
		}
		if m := magnitude(i); m.Cmp(worst) > 0 {
			worst = m
		}
		last := len(points) - 1
		switch {
		case last < 0 || errors[points[last]].Sign() != errors[i].Sign():
			points = append(points, i)
		case magnitude(i).Cmp(magnitude(points[last])) > 0:
			points[last] = i
		}
	}
	for len(points) > n {
		if magnitude(points[0]).Cmp(magnitude(points[len(points)-1])) < 0 {
			points = points[1:]
		} else {
			points = points[:len(points)-1]
		}
	}
	if len(points) < n {
		return nil, worst
	}
	return points, worst
}

// source returns the constants of a polynomial as Go source.
func (r result) source(t fit) string {
	s := fmt.Sprintf("// %s The error is at most 2^%.1f.\nconst (\n", t.doc, math.Log2(r.err))
	for i, c := range r.high {
		s += fmt.Sprintf("\t%s%d = %x\n", t.name, i, c)
		if i < len(r.low) {
			s += fmt.Sprintf("\t%s%dLow = %x\n", t.name, i, r.low[i])
		}
	}
	return s + ")\n"
}
