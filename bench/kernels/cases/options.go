package cases

import (
	"math"

	"github.com/purecuda/cuda/bench/kernels"
	"github.com/purecuda/cuda/driver"
)

func blackScholes(m *Memory, n int) *Work {
	r := source(n)
	prices, strikes, years := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range prices {
		prices[i], strikes[i], years[i] = 5+25*r.Float32(), 1+99*r.Float32(), 0.25+9.75*r.Float32()
	}
	const rate, volatility float32 = 0.02, 0.30
	calls, puts := Out(m, make([]float32, n)), Out(m, make([]float32, n))
	p, s, y := In(m, prices), In(m, strikes), In(m, years)
	return &Work{
		Grid: driver.Blocks((n+1)/2, 128), Block: driver.D1(128),
		Args: []any{calls, puts, p, s, y, rate, volatility}, CUDA: []any{calls.Ptr(), puts.Ptr(), p.Ptr(), s.Ptr(), y.Ptr(), rate, volatility, int32(n)},
		Bytes: 20 * float64(n), Operations: 60 * float64(n), Tolerance: 3e-5,
		Want: func() []any {
			calls, puts := make([]float32, n), make([]float32, n)
			normal := func(d float64) float64 { return math.Erfc(-d/math.Sqrt2) / 2 }
			for i := range calls {
				p, s, y, v := float64(prices[i]), float64(strikes[i]), float64(years[i]), float64(volatility)
				d := (math.Log(p/s) + (float64(rate)+v*v/2)*y) / (v * math.Sqrt(y))
				discounted := s * math.Exp(-float64(rate)*y)
				call := p*normal(d) - discounted*normal(d-v*math.Sqrt(y))
				calls[i], puts[i] = float32(call), float32(call+discounted-p)
			}
			return []any{calls, puts}
		},
	}
}

// monteCarlo computes n options. It uses 2¹⁸ numbers if n is large, and 301 otherwise.
func monteCarlo(m *Memory, n int) *Work {
	r := source(n)
	numbers := make([]float32, 301)
	if n >= 1024 {
		numbers = make([]float32, 1<<18-n%2)
	}
	for i := range numbers {
		numbers[i] = float32(r.NormFloat64())
	}
	options := make([]kernels.PathOption, n)
	for i := range options {
		options[i] = kernels.PathOption{Price: 5 + 45*r.Float32(), Strike: 10 + 15*r.Float32(), Drift: 0.01, Volatility: 0.1 + 0.3*r.Float32()}
	}
	expected, confidence := Out(m, make([]float32, n)), Out(m, make([]float32, n))
	o, x := In(m, options), In(m, numbers)
	paths := float64(n) * float64(len(numbers))
	return &Work{
		Grid: driver.D1(n), Block: driver.D1(256),
		Args: []any{expected, confidence, o, x}, CUDA: []any{expected.Ptr(), confidence.Ptr(), o.Ptr(), x.Ptr(), int32(len(numbers))},
		Bytes: 24*float64(n) + 4*float64(len(numbers)), Operations: 9 * paths, Tolerance: 1e-4,
		Want: func() []any {
			expected, confidence := make([]float32, n), make([]float32, n)
			for i, o := range options {
				var sum, squares float64
				for _, x := range numbers {
					gain := max(float64(o.Price)*math.Exp(float64(o.Drift)+float64(o.Volatility)*float64(x))-float64(o.Strike), 0)
					sum += gain
					squares += gain * gain
				}
				n := float64(len(numbers))
				expected[i], confidence[i] = float32(sum/n), float32(1.96*math.Sqrt((n*squares-sum*sum)/(n*(n-1))/n))
			}
			return []any{expected, confidence}
		},
	}
}

// binomial computes n options. It uses 2,048 steps if n is large, and 100 otherwise, or one step
// fewer if n is odd.
func binomial(m *Memory, n int) *Work {
	r := source(n)
	steps := 100 - n%2
	if n >= 1000 {
		steps = 2048 - n%2
	}
	options := make([]kernels.TreeOption, n)
	for i := range options {
		const rate = 0.06
		volatility, years := 0.1, 0.5+r.Float64()*9.5
		dt := years / float64(steps)
		move := volatility * math.Sqrt(dt)
		up, down := math.Exp(move), math.Exp(-move)
		p := (math.Exp(rate*dt) - down) / (up - down)
		options[i] = kernels.TreeOption{
			Price: 5 + 25*r.Float32(), Strike: 1 + 99*r.Float32(), Move: float32(move),
			Up: float32(p * math.Exp(-rate*dt)), Down: float32((1 - p) * math.Exp(-rate*dt)),
		}
	}
	prices, o := Out(m, make([]float32, n)), In(m, options)
	return &Work{
		Grid: driver.D1(n), Block: driver.D1(128),
		Args: []any{prices, o, int32(steps)}, CUDA: []any{prices.Ptr(), o.Ptr(), int32(steps)},
		Bytes: 24 * float64(n), Operations: 1.5 * float64(n) * float64(steps) * float64(steps), Tolerance: 1e-4,
		Want: func() []any {
			prices := make([]float32, n)
			for i, o := range options {
				nodes := make([]float64, steps+1)
				for j := range nodes {
					nodes[j] = max(float64(o.Price)*math.Exp(float64(o.Move)*float64(2*j-steps))-float64(o.Strike), 0)
				}
				for last := steps; last > 0; last-- {
					for j := range last {
						nodes[j] = float64(o.Up)*nodes[j+1] + float64(o.Down)*nodes[j]
					}
				}
				prices[i] = float32(nodes[0])
			}
			return []any{prices}
		},
	}
}
