package main

import (
	"math"
	"math/big"
)

// lawson solves the same problem as remez by iterated weighted least squares, in which the weights
// grow where the error is large (Lawson's algorithm). Unlike remez, it also works for functions
// that vanish within the interval. For such functions, the error of the best polynomial does not
// always alternate.
func lawson(g grid, f []*big.Float, first, last int) []*big.Float {
	n := last - first + 1
	basis := make([][]*big.Float, len(g.x))
	values := make([]*big.Float, len(g.x))
	for i, x := range g.x {
		p := zero().Mul(power(x, first), g.w[i])
		for range n {
			basis[i] = append(basis[i], p)
			p = zero().Mul(p, x)
		}
		values[i] = zero().Mul(f[i], g.w[i])
	}
	weights := make([]float64, len(g.x))
	for i := range weights {
		weights[i] = 1
	}
	var best []*big.Float
	least := math.Inf(1)
	for range 25 {
		c := leastSquares(basis, values, weights)
		errors := make([]float64, len(values))
		worst := 0.0
		sum, p := zero(), zero()
		for i, v := range values {
			sum.Set(v)
			for j, b := range basis[i] {
				sum.Sub(sum, p.Mul(c[j], b))
			}
			errors[i], _ = sum.Float64()
			errors[i] = math.Abs(errors[i])
			worst = max(worst, errors[i])
		}
		if worst < least {
			best, least = c, worst
		}
		for i, e := range errors {
			weights[i] *= e / worst
		}
	}
	return best
}

// leastSquares solves the normal equations.
func leastSquares(basis [][]*big.Float, values []*big.Float, weights []float64) []*big.Float {
	n := len(basis[0])
	rows := make([][]*big.Float, n)
	for i := range rows {
		for range n + 1 {
			rows[i] = append(rows[i], zero())
		}
	}
	p, q := zero(), zero() // one allocation each, not one for each product
	for k, b := range basis {
		w := number(weights[k])
		for i := range n {
			p.Mul(w, b[i])
			for j := i; j < n; j++ {
				rows[i][j].Add(rows[i][j], q.Mul(p, b[j]))
			}
			rows[i][n].Add(rows[i][n], q.Mul(p, values[k]))
		}
	}
	for i := range n {
		for j := range i {
			rows[i][j].Set(rows[j][i])
		}
	}
	return eliminate(rows)
}

// eliminate solves a system of linear equations. Each row is an equation, and its last element is
// the right-hand side.
func eliminate(rows [][]*big.Float) []*big.Float {
	n := len(rows)
	for c := range n {
		best := c
		for r := c + 1; r < n; r++ {
			if zero().Abs(rows[r][c]).Cmp(zero().Abs(rows[best][c])) > 0 {
				best = r
			}
		}
		rows[c], rows[best] = rows[best], rows[c]
		for r := range n {
			if r == c || rows[r][c].Sign() == 0 {
				continue
			}
			q := zero().Quo(rows[r][c], rows[c][c])
			for k := c; k <= n; k++ {
				rows[r][k] = zero().Sub(rows[r][k], zero().Mul(q, rows[c][k]))
			}
		}
	}
	x := make([]*big.Float, n)
	for i := range n {
		x[i] = zero().Quo(rows[i][n], rows[i][i])
	}
	return x
}
