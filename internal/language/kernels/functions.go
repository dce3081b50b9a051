package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// Calls: functions, several results, variadic parameters, results with names.
//
//gpu:kernel
func calls(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	o[0], o[1] = sum(), sum(a, b, 3)
	o[2] = sum(in[:3]...)
	o[3] = largest(a, b)
	increase(&o[4], b)
}

func increase(p *int64, by int64) { *p += by }

func sum(list ...int64) (n int64) {
	for _, x := range list {
		n += x
	}
	return
}

func largest(a int64, b int64) int64 {
	if a > b {
		return a
	}
	return b
}

// Recursion needs stack. A function with the directive noinline is called as well.
//
//gpu:kernel
func recursion(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	o[0] = fibonacci(a & 7)
	o[1], o[2] = apart(a, b)
}

func fibonacci(n int64) int64 {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

//gpu:noinline
func apart(a, b int64) (int64, int64) { return a * 3, b - a }

// Function literals, function values and closures that are known at compile time.
//
//gpu:kernel
func closures(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	n := a
	add := func(x int64) int64 { n += x; return n }
	o[0] = add(b) + add(1)
	o[1] = apply(largest, a, b)
	o[2] = func(x int64) int64 { return x * x }(b)
	o[3] = adder(a)(b)
	list := [2]func(a, b int64) int64{largest, func(a, b int64) int64 { return a - b }}
	o[4] = list[1](a, b)
	type unary func(int64) int64
	o[5] = unary(add)(2)
}

func apply(f func(a, b int64) int64, a, b int64) int64 { return f(a, b) }

func adder(a int64) func(int64) int64 { return func(b int64) int64 { return a + b } }

// Methods of values and pointers, of embedded fields, as values and as expressions.
//
//gpu:kernel
func methods(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	c := outer{counter: counter{a}, next: &counter{b}}
	c.add(3)
	c.next.add(4)
	o[0], o[1] = c.get(), c.next.get()
	f, g, h := c.get, (*counter).add, counter.get
	c.n = 9
	g(&c.counter, 2)
	o[2], o[3], o[4] = f(), c.n, h(c.counter)
	o[5] = (&c).get()
	o[6] = int64(celsius(a).half())
}

type counter struct{ n int64 }

func (c *counter) add(x int64) { c.n += x }

func (c counter) get() int64 { return c.n }

type outer struct {
	counter
	next *counter
}

type celsius float64

func (c celsius) half() celsius { return c / 2 }

// Interfaces whose dynamic type is known at compile time, with methods and embedding.
//
//gpu:kernel
func interfaces(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	var s getter = &counter{a}
	s.add(b)
	o[0] = s.get()
	var r reader = s
	o[1] = r.get()
	o[2] = total(pair{a, b})
	_, o[3] = any(s).(*counter), 1
}

type reader interface{ get() int64 }

type getter interface {
	reader
	add(int64)
}

// Generic functions, types and methods, constraints with unions, methods and core types.
//
//gpu:kernel
func generics(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	o[0] = int64(smallest(int32(a), int32(b)))
	o[1] = smallest[int64](a, b)
	s := stack[pair]{}
	s.push(pair{a, b})
	s.push(pair{b, a})
	o[2], o[3] = s.top().a, int64(s.n)
	o[4] = sums([]counter{{a}, {b}})
	o[5] = mapped[int64, float64](a, func(x int64) float64 { return float64(x) / 2 })
	o[6] = int64(length(o[:3]))
	type pairs = both2[int64, int32]
	o[7] = pairs{a, int32(b)}.first + int64(both2[int8, int8]{1, 2}.second)
}

type both2[A, B any] struct {
	first  A
	second B
}

func smallest[T ~int32 | ~int64](a, b T) T {
	if a < b {
		return a
	}
	return b
}

type stack[T any] struct {
	list [4]T
	n    int
}

func (s *stack[T]) push(x T) {
	s.list[s.n&3] = x
	s.n++
}

func (s *stack[T]) top() T { return s.list[(s.n-1)&3] }

func sums[T interface{ get() int64 }](list []T) (n int64) {
	for _, x := range list {
		n += x.get()
	}
	return n
}

func mapped[A, B any](a A, f func(A) B) int64 { return kind(f(a)) }

func length[S ~[]E, E any](s S) int { return len(s) }
