package kernels

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)

// BlackScholes computes the prices of European call and put options. Each thread computes two calls
// and two puts.
//
//gpu:kernel block=128 restrict=calls,puts,prices,strikes,years
func BlackScholes(t gpu.Thread, calls, puts, prices, strikes, years []float32, rate, volatility float32) {
	puts, prices, strikes, years = puts[:len(calls)], prices[:len(calls)], strikes[:len(calls)], years[:len(calls)]
	i := 2 * t.GlobalX()
	if i+2 <= len(calls) {
		price, strike, time := *(*[2]float32)(prices[i:]), *(*[2]float32)(strikes[i:]), *(*[2]float32)(years[i:])
		c0, p0 := blackScholes(price[0], strike[0], time[0], rate, volatility)
		c1, p1 := blackScholes(price[1], strike[1], time[1], rate, volatility)
		*(*[2]float32)(calls[i:]) = [2]float32{c0, c1}
		*(*[2]float32)(puts[i:]) = [2]float32{p0, p1}
	} else if i < len(calls) {
		calls[i], puts[i] = blackScholes(prices[i], strikes[i], years[i], rate, volatility)
	}
}

func blackScholes(price, strike, years, rate, volatility float32) (call, put float32) {
	root := gpu.ApproxDiv(1, math32.FastRsqrt(years))
	d1 := gpu.ApproxDiv(gpu.ApproxLog(gpu.ApproxDiv(price, strike))+(rate+0.5*volatility*volatility)*years, volatility*root)
	d2 := d1 - volatility*root
	n1, n2 := normal(d1), normal(d2)
	discounted := strike * gpu.ApproxExp(-rate*years)
	return price*n1 - discounted*n2, discounted*(1-n2) - price*(1-n1)
}

// normal approximates the cumulative distribution function of the normal distribution by a
// polynomial.
func normal(d float32) float32 {
	k := gpu.ApproxDiv(1, 1+0.2316419*math32.Abs(d))
	tail := 0.39894228 * gpu.ApproxExp(-0.5*d*d) * (k * (0.31938153 + k*(-0.356563782+k*(1.781477937+k*(-1.821255978+k*1.330274429)))))
	if d > 0 {
		return 1 - tail
	}
	return tail
}

// PathOption is an option for MonteCarlo. During the option's time, the logarithm of the share
// price changes by Drift plus Volatility times a normal random number.
type PathOption struct{ Price, Strike, Drift, Volatility float32 }

// MonteCarlo computes the expected value of an option and half the width of its confidence interval
// from normal random numbers. Each block computes one option.
//
//gpu:kernel block=256 restrict=expected,confidence,options,numbers
func MonteCarlo(t gpu.Thread, expected, confidence []float32, options []PathOption, numbers []float32) {
	option := options[t.BlockX()]
	var sum, squares float32
	for i := t.ThreadX(); i < len(numbers); i += t.BlockDimX() {
		price := option.Price * gpu.ApproxExp(option.Drift+option.Volatility*numbers[i])
		gain := max(price-option.Strike, 0)
		sum += gain
		squares += gain * gain
	}
	sum = blockSum(t, sum)
	t.Sync()
	squares = blockSum(t, squares)
	if t.ThreadX() == 0 {
		n := float32(len(numbers))
		expected[t.BlockX()] = sum / n
		confidence[t.BlockX()] = 1.96 * math32.Sqrt((n*squares-sum*sum)/(n*(n-1))) / math32.Sqrt(n)
	}
}

// TreeOption is an option for Binomial. Move is the change of the logarithm of the share price in
// one step. Up and Down are the discounted probabilities of the steps.
type TreeOption struct{ Price, Strike, Move, Up, Down float32 }

// Binomial computes the price of an option from a tree with up to 2,048 steps. Each block computes
// one option. A thread keeps 16 nodes of the tree in registers, and passes its first node to the
// previous thread.
//
//gpu:kernel block=128 restrict=prices,options
func Binomial(t gpu.Thread, prices []float32, options []TreeOption, steps int32) {
	passed := gpu.Shared[[129]float32](t)
	option := options[t.BlockX()]
	tid := int32(t.ThreadX())
	var nodes [17]float32
	for j := range int32(16) {
		nodes[j] = option.atEnd(16*tid+j, steps)
	}
	if tid == 0 {
		passed[128] = option.atEnd(2048, steps)
	}
	last := max(0, 16*tid-1)
	for i := steps; i > 0; i-- {
		passed[tid] = nodes[0]
		t.Sync()
		nodes[16] = passed[tid+1]
		t.Sync()
		if i > last {
			for j := range 16 {
				nodes[j] = option.Up*nodes[j+1] + option.Down*nodes[j]
			}
		}
	}
	if tid == 0 {
		prices[t.BlockX()] = nodes[0]
	}
}

// atEnd returns the value of an option at the end of its time. up is the number of steps in which the
// price rose.
func (o TreeOption) atEnd(up, steps int32) float32 {
	return max(o.Price*gpu.ApproxExp(o.Move*float32(2*up-steps))-o.Strike, 0)
}
