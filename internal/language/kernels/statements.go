package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// If, with an initial statement, else and else if.
//
//gpu:kernel
func ifs(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	if a > b {
		o[0] = 1
	}
	if c := a * b; c < 0 {
		o[1] = c
	} else if c == 0 {
		o[1] = 7
	} else {
		o[1] = -c
	}
}

// For: endless, with a condition, with three parts. Each iteration has its own variable.
//
//gpu:kernel
func loops(t gpu.Thread, in, out []int64) {
	a, _, o := args(t, in, out)
	n := a & 7
	for {
		o[0]++
		if o[0] > n {
			break
		}
	}
	for o[1] < n {
		o[1] += 2
	}
	for i, j := int64(0), n; i < j; i, j = i+1, j-1 {
		if i == 1 {
			continue
		}
		o[2] += i * j
	}
	last := func() int64 { return -1 }
	for i := range n {
		if i == 2 {
			last = func() int64 { return i }
			break
		}
	}
	if n > 2 {
		o[3] = 1
	}
	for range 3 {
		o[4]++
	}
	_ = last
}

// Range over integers, arrays, pointers to arrays and slices.
//
//gpu:kernel
func ranges(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	for i := range uint8(a) & 7 {
		o[0] += int64(i)
	}
	for range a & 3 {
		o[1]++
	}
	list := [...]int64{a, b, a + b}
	for i, x := range list {
		list[2] = 0 // the loop iterates over a copy of the array
		o[2] += int64(i) * x
	}
	for i, x := range &list {
		list[2] = 9
		o[3] += int64(i) * x
	}
	for i := range list {
		o[4+i]++
	}
	for _, x := range list[:2] {
		o[8] ^= x
	}
	var i int
	for i = range o[:5] {
	}
	for i, o[9] = range list[1:] {
	}
	o[10] = int64(i)
	for range list {
		o[11]++
	}
	for range list[:2] {
		o[12]++
	}
}

// Range over functions, with zero, one and two values, and all ways to leave the body.
//
//gpu:kernel
func rangesOverFunctions(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	for range times(3) {
		o[0]++
	}
	for i := range below(10) {
		if i == b&7 {
			continue
		}
		if i > a&7 {
			break
		}
		o[1] += i
	}
	for i, x := range indexed(in[:4]) {
		o[2] += i * x
	}
	o[3] = find(in, a)
}

func find(in []int64, x int64) int64 {
outer:
	for i, y := range indexed(in) {
		for j := range below(2) {
			if j == 1 {
				continue outer
			}
			if x == y {
				return i
			}
		}
	}
	return -1
}

func times(n int) func(func() bool) {
	return func(yield func() bool) {
		for range n {
			if !yield() {
				return
			}
		}
	}
}

func below(n int64) func(func(int64) bool) {
	return func(yield func(int64) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func indexed(s []int64) func(func(int64, int64) bool) {
	return func(yield func(int64, int64) bool) {
		for i, x := range s {
			if !yield(int64(i), x) {
				return
			}
		}
	}
}

// Switch: with and without a value, with an initial statement, default, fallthrough and break.
//
//gpu:kernel
func switches(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	switch a & 7 {
	case 0, 1:
		o[0] = 1
		fallthrough
	case 2:
		o[1] = 2
	//lint:ignore ST1015 A default may be in the middle.
	default:
		o[2] = 3
		if b > 0 {
			break
		}
		o[3] = 4
	case 7:
		o[4] = 5
	}
	switch c := a + b; {
	case c > 5:
		o[5] = c
	case c > 0:
		o[6] = c
	}
	switch {
	default:
		o[7] = 1
	}
	switch p := (pair{a, b}); p {
	case pair{7, 3}:
		o[8] = 1
	}
}

// Type switch and type assertion on a value whose dynamic type is known at compile time.
//
//gpu:kernel
func typeSwitches(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	o[0], o[1], o[2] = kind(a), kind(float32(b)), kind(nil)
	o[3], o[4] = kind(uint8(a)), kind(pair{a, b})
	var x any = a
	n := x.(int64)
	f, ok := x.(float64)
	o[5], o[6], o[7] = n, bits64(f), bit(ok)
	o[8] = total(pair{a, b})
}

func kind(x any) int64 {
	switch v := x.(type) {
	case int64:
		return v
	case float32, float64:
		return 2
	case nil:
		return 3
	case summer:
		return v.sum()
	}
	switch x.(type) {
	default:
		return 4
	}
}

type summer interface{ sum() int64 }

func (p pair) sum() int64 { return p.a + p.b }

func total(s summer) int64 { return s.sum() }

// Break and continue with labels, and goto forwards and backwards.
//
//gpu:kernel
func labels(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
rows:
	for i := range a & 7 {
		for j := range b & 7 {
			if i*j == 6 {
				break rows
			}
			if j > i {
				continue rows
			}
			o[0] += i + j
		}
	}
	n := 0
again:
	n++
	if n < 5 {
		goto again
	}
	o[1] = int64(n)
choice:
	switch {
	case a > 0:
		if b > 0 {
			break choice
		}
		o[2] = 1
		if b < -5 {
			goto empty
		}
		o[3] = 2
	empty:
	}
	if a < 0 {
		goto end
	}
	o[3] = 1
end:
	o[4] = 1
}

// Declarations of variables, constants and types in a function, iota, the blank identifier, empty
// statements, blocks and shadowed names.
//
//gpu:kernel
func declarations(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	const (
		one = 1 << iota
		two
		_
		eight
		big = 1 << 100 >> 98
	)
	type local struct{ x int64 }
	type alias = local
	var (
		x    int64
		y, z = a, b
		w    local
	)
	_ = z
	{
		a := alias{a + 1}
		w = a
	}

	o[0], o[1], o[2], o[3] = x, y, w.x, one+two+eight+big
	o[4] = int64(len([two]int{}))
	const letter, imaginary, float, text, yes = 'x', 2i, 1.5, "text", true
	o[5], o[6], o[7] = letter, int64(imag(imaginary)), float*2+int64(len(text))
	o[8] = bit(yes)
}

// Assignment of several values: operands are evaluated before the first assignment.
//
//gpu:kernel
func assignments(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	a, b = b, a
	i := 0
	i, o[i] = 1, a
	o[1], o[2] = divide(a, b)
	q, r := divide(b, 3)
	_, o[3] = divide(7, 2)
	o[4], o[5], o[6] = q, r, int64(i)
	o[7], o[8] = both(divide(a, 2))
}

func divide(a, b int64) (quotient, rest int64) {
	if b == 0 {
		return
	}
	quotient = a / b
	return quotient, a % b
}

func both(a, b int64) (int64, int64) { return divide(b, a) }
