package kernels

import "github.com/purecuda/cuda/ptx/gpu"

type signed interface{ ~int | ~int32 | ~int64 | ~int8 }

// All operators of signed integers.
//
//gpu:kernel
func signedOperators(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	o[0], o[1], o[2] = a+b, a-b, a*b
	o[3], o[4], o[5], o[6] = a&b, a|b, a^b, a&^b
	if b != 0 {
		o[7], o[8] = a/b, a%b
	}
	o[9], o[10] = a<<(b&63), a>>(b&63)
	o[11], o[12], o[13] = -a, +a, ^a
	o[14], o[15], o[16] = bit(a == b), bit(a != b), bit(a < b)
	o[17], o[18], o[19] = bit(a <= b), bit(a > b), bit(a >= b)
}

// All operators of unsigned integers.
//
//gpu:kernel
func unsignedOperators(t gpu.Thread, in, out []int64) {
	x, y, o := args(t, in, out)
	a, b := uint32(x), uint32(y)
	o[0], o[1], o[2] = int64(a+b), int64(a-b), int64(a*b)
	o[3], o[4], o[5], o[6] = int64(a&b), int64(a|b), int64(a^b), int64(a&^b)
	if b != 0 {
		o[7], o[8] = int64(a/b), int64(a%b)
	}
	o[9], o[10] = int64(a<<b), int64(a>>b)
	o[11], o[12], o[13] = int64(-a), int64(+a), int64(^a)
	o[14], o[15], o[16] = bit(a == b), bit(a != b), bit(a < b)
	o[17], o[18], o[19] = bit(a <= b), bit(a > b), bit(a >= b)
}

// All operators of floating-point numbers.
//
//gpu:kernel
func floatOperators(t gpu.Thread, in, out []int64) {
	x, y, o := args(t, in, out)
	a, b := float32(x)/3, float32(y)/7
	o[0], o[1], o[2], o[3] = bits32(a+b), bits32(a-b), bits32(a*b), bits32(a/b)
	o[4], o[5] = bits32(-a), bits32(+a)
	o[6], o[7], o[8] = bit(a == b), bit(a != b), bit(a < b)
	o[9], o[10], o[11] = bit(a <= b), bit(a > b), bit(a >= b)
}

// All operators of complex numbers.
//
//gpu:kernel
func complexOperators(t gpu.Thread, in, out []int64) {
	x, y, o := args(t, in, out)
	a, b := complex(float64(x), 2), complex(1.5, float64(y))
	put := func(i int, c complex128) { o[i], o[i+1] = bits64(real(c)), bits64(imag(c)) }
	put(0, a+b)
	put(2, a-b)
	put(4, a*b)
	put(6, a/b)
	put(8, -a)
	put(10, +a)
	o[12], o[13] = bit(a == b), bit(a != b)
	var c complex64 = 3i
	o[14], o[15] = bits32(real(c)), bits32(imag(c))
}

// Logical operators. The second operand is evaluated only if the first does not decide the result.
//
//gpu:kernel
func logicalOperators(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	calls := int64(0)
	p, q := a > 0, func() bool { calls++; return b > 0 }
	o[0], o[1], o[2] = bit(p && q()), bit(p || q()), bit(!p)
	o[3], o[4], o[5] = calls, bit(p == (b > 0)), bit(p != (b > 0))
}

// Comparison of pointers, arrays, structs and interfaces, and of slices and functions with nil.
//
//gpu:kernel
func comparisons(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	p, q := &o[0], &o[1]
	x, y := [2]int64{a, 1}, [2]int64{b, 1}
	s, u := pair{a, b}, pair{b, a}
	f := func() {}
	var none []int64
	var i, j any = x[0], y[0]
	var e error
	o[2], o[3] = bit(p == q), bit(p != nil)
	o[4], o[5] = bit(x == y), bit(x != y)
	o[6], o[7] = bit(s == u), bit(s != u)
	o[8], o[9] = bit(i == j), bit(i != j)
	o[10], o[11] = bit(none == nil), bit(o != nil)
	o[12], o[13] = bit(f == nil), bit(f != nil)
	o[14], o[15] = bit(e == nil), bit(e != nil)
	o[16], o[17] = equal(a, b)
	o[18], o[19] = bit(p == nil), bit(o == nil)
}

func equal[T comparable](a, b T) (same, other int64) { return bit(a == b), bit(a != b) }

type pair struct{ a, b int64 }

// Operators on values of a type parameter.
//
//gpu:kernel
func genericOperators(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	o[0] = int64(mix(int8(a), int8(b)))
	o[1] = mix(a, b)
	o[2] = int64(mix(int32(a), int32(b)))
}

func mix[T signed](a, b T) T {
	r := a + b - a*b ^ (a & b) | a&^b
	if b != 0 {
		r += a/b ^ a%b
	}
	if a < b || a > b || a <= 3 || b >= a {
		r ^= a<<1 + b>>1
	}
	if a == b || a != -b {
		r = ^r
	}
	return +r
}

// Assignment operators, increment and decrement.
//
//gpu:kernel
func assignmentOperators(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	x := a
	x += b
	o[0] = x
	x -= 3
	o[1] = x
	x *= b
	o[2] = x
	x /= 5
	o[3] = x
	x %= 7
	o[4] = x
	x &= b
	x |= a
	x ^= 9
	o[5] = x
	x <<= 2
	x >>= 1
	x &^= 4
	o[6] = x
	x++
	o[7]--
	o[8] = x
}

// Constant strings: length, elements, slices. Comparison and concatenation need constants.
//
//gpu:kernel
func constantStrings(t gpu.Thread, in, out []int64) {
	a, _, o := args(t, in, out)
	const text = "kernel" + "s"
	s := text
	if a > 0 {
		s = "other"
	}
	o[0], o[1] = int64(len(s)), int64(s[1])
	o[2], o[3] = bit(text < "l"), bit(text == "kernels")
	o[4] = int64(len(s[1:3]) + len(`raw`) + len(named("x")))
	for i, r := range "aß水" {
		o[5+i] = int64(r)
	}
	for i := range "ab" {
		o[13+i]++
	}
	o[15] = int64('x')
}

type named string

// Strings that are chosen at run time can be compared for equality. An ordered comparison requires
// strings that are known at compile time.
//
//gpu:kernel
func stringComparisons(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	s, u := "kernel", "kernel"
	if a > 0 {
		s = "kernels"
	}
	if b < 0 {
		u = "kernels"
	}
	o[0], o[1] = bit(s == u), bit(s != u)
	p, q := "one", "two"
	o[2], o[3], o[4], o[5] = bit(p < q), bit(p <= q), bit(p > q), bit(p >= q)
}
