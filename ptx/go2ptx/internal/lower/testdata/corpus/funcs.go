package corpus

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
)

type number interface {
	~int | ~int32 | ~float32 | ~uint8
}

func sum[T number](s []T) (t T) {
	for _, v := range s {
		t += v
	}
	return t + 1
}

func Generic(a []int, b []float32, c []uint8) (int, float32, uint8) {
	return sum(a), sum(b), sum[uint8](c)
}

type stack[T any] struct {
	items [8]T
	n     int
}

func (s *stack[T]) push(v T) { s.items[s.n&7] = v; s.n++ }
func (s *stack[T]) pop() T   { s.n--; return s.items[s.n&7] }
func (s stack[T]) size() int { return s.n }

func Stack(a, b int16) (int16, int, float32) {
	var s stack[int16]
	s.push(a)
	s.push(b)
	s.push(a + b)
	var t stack[float32]
	t.push(1.5)
	x := s.pop()
	return x + s.pop()*2, s.size(), t.pop()
}

type shape interface{ area() int }
type square struct{ w int }
type rect struct {
	square
	h int
}

func (s square) area() int { return s.w * s.w }
func (r *rect) grow(n int) { r.w += n; r.h += n }

func areaOf[S shape](s S) int { return s.area() }

func Methods(a, b int) (int, int, int) {
	r := rect{square{a}, b}
	r.grow(2)
	f := r.grow
	f(3)
	g := square.area
	h := (*rect).grow
	h(&r, 1)
	var s shape = square{b}
	return areaOf(r.square), g(square{3}) + r.h, s.area()
}

func Closures(a int) int {
	n := 0
	inc := func(by int) int { n += by; return n }
	twice := func(f func(int) int, x int) int { return f(x) + f(x) }
	r := twice(inc, a)
	adder := func(k int) func(int) int { return func(x int) int { return x + k } }
	plus := adder(10)
	return r + plus(n) + twice(plus, 1)
}

func LoopClosures(n uint8) int {
	t := 0
	for i := 0; i < int(n&7); i++ {
		f := func() { t += i * i }
		f()
		p := &i
		t += *p
	}
	return t
}

func apply[T, U any](s []T, f func(T) U, into func(int, U)) {
	for i, v := range s {
		into(i, f(v))
	}
}

func Apply(s []int8) int {
	t := 0
	apply(s, func(v int8) int { return int(v) * 2 }, func(i, v int) { t += i * v })
	return t
}

func count(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < n; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

func pairs(n int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := range count(n) {
			for j := range count(i) {
				if !yield(i, j) {
					return
				}
			}
		}
		yield(-1, -1)
	}
}

func RangeFunc(n uint8) int {
	t := 0
	for i := range count(int(n)) {
		if i == 3 {
			continue
		}
		if i > 20 {
			break
		}
		t += i
	}
	return t
}

func RangeFuncReturn(n, k int8) int {
	for i, j := range pairs(int(n & 15)) {
		if i*j == int(k) {
			return i*100 + j
		}
	}
	return -5
}

func RangeFuncLabels(n, k uint8) int {
	t := 0
outer:
	for i := range count(int(n & 15)) {
		for j := range count(10) {
			switch {
			case j > i:
				continue outer
			case i*j > int(k&63):
				break outer
			case j == 5:
				goto next
			}
			t += j
		}
	next:
		t += 100
		for x := range 4 {
			if x == 2 {
				continue outer
			}
			t++
		}
	}
	return t
}

func RangeFuncNoVars(n uint8) (r int) {
	for range count(int(n & 15)) {
		r++
		if r > 7 {
			return
		}
	}
	r += 1000
	return
}

func Iterators(s []int) (int, int) {
	t := 0
	for i, v := range slices.Backward(s) {
		t += i * v
		if t > 1000 {
			break
		}
	}
	u := 0
	for v := range slices.Values(s) {
		u += v
	}
	return t, u
}

func Slices(s, t []int) (bool, int, bool) {
	slices.Reverse(s)
	return slices.Equal(s, t), slices.Index(s, 3), slices.Contains(t, -1)
}

func Ordered(a, b float64, c, d uint8) (int, bool) { return cmp.Compare(a, b), cmp.Less(c, d) }

func kindOf(x any) int {
	switch v := x.(type) {
	case int:
		return v
	case *float32:
		*v += 2
		return 2
	case uint8, uint16:
		return 3
	case nil:
		return 4
	}
	return 5
}

func TypeSwitch(a int, f float32, b uint8) (int, int, float32, int, int, int) {
	x, y := kindOf(a), kindOf(&f)
	return x, y, f, kindOf(b), kindOf(nil), kindOf(f)
}

func TypeAssert(a int) (int, bool, bool) {
	var x any = a
	v := x.(int)
	_, ok := x.(uint)
	return v, ok, x != nil
}

func MathBits(a uint32, b uint64, n int8) (int, int, int, int, uint32, uint64, uint32, uint64, int) {
	return bits.LeadingZeros32(a), bits.TrailingZeros64(b), bits.OnesCount64(b), bits.Len8(uint8(a)), bits.Reverse32(a), bits.ReverseBytes64(b),
		bits.RotateLeft32(a, int(n)), bits.RotateLeft64(b, int(n)), bits.TrailingZeros16(uint16(a))
}

func Wide(a, b, c uint64) (uint64, uint64, uint64, uint64, uint64) {
	hi, lo := bits.Mul64(a, b)
	s, carry := bits.Add64(a, b, c&1)
	d, _ := bits.Sub64(a, b, carry)
	return hi, lo, s, carry, d
}

var primes = [...]uint16{2, 3, 5, 7, 11, 13}
var names = []struct {
	n int8
	f float32
}{{1, 0.5}, {n: 3}, {-2, 8}}
var scale = 2.5
var origin = point{X: 1, Tag: [3]uint16{7, 8, 9}}
var operation = func(x int) int { return x * 3 }
var words = "gopher"

const big = 1 << 40

func Tables(i, j int) (uint16, float32, int, float64, uint16, int) {
	t := 0
	for _, p := range primes {
		t += int(p)
	}
	return primes[i], names[j].f, len(names) + t, scale, origin.Tag[1], operation(t)
}

func Strings(i int, a bool) (int, uint8, bool, bool) {
	const hello = "héllo, 世界"
	t := 0
	for j, r := range hello {
		t += j * int(r)
	}
	s := "abc"
	if a {
		s = "abd"
	}
	return t, hello[i], s == "abc", words[1:3] == "op"
}

func StringLen(a bool) (int, int) {
	s := ""
	if a {
		s = "four"
	}
	return len(s), big >> 38
}

type celsius float32
type vec[T any] [3]T

func (v vec[T]) at(i int) T { return v[i] }

func Named(a float32, i int) (float32, celsius) {
	c := celsius(a) + 1
	v := vec[celsius]{c, 2, 3}
	return float32(v.at(i)), v[0]
}

func local[T number](x T) T {
	type pair struct{ a, b T }
	p := pair{x, x + 1}
	q := []pair{p, {3, 4}}
	return q[0].b * q[1].a
}

func Local(a int, b float32) (int, float32) { return local(a), local(b) }

func Shadow(x int) int {
	y := x
	if x := x * 2; x > 10 {
		y += x
		x := 3
		y += x
	}
	return y + x
}

type node struct {
	next *node
	v    int
}

func List(a, b int) int {
	z := node{v: 3}
	y := node{&z, b}
	x := node{&y, a}
	t := 0
	for n := &x; n != nil; n = n.next {
		t = t*5 + n.v
	}
	return t
}

func FuncArray(a int, i bool) int {
	ops := [2]func(int) int{func(x int) int { return x + 1 }, func(x int) int { return x * 2 }}
	n := ops[0](a)
	if i {
		n = ops[1](n)
	}
	return n
}
