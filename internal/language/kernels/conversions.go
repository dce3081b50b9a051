package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// Addresses of variables of all types.
//
//gpu:kernel
func addresses(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	var yes bool
	var u uint16
	var f float32
	var c complex128
	var s string
	var list [3]int32
	var q []int64
	var p pair
	var r *int64
	g := largest
	var i any
	p1, p2, p3, p4, p5, p6, p7, p8, p9 := &yes, &u, &f, &c, &s, &q, &r, &i, &g
	*p1, *p2, *p3, *p4 = a > 0, uint16(a), float32(a), complex(1, float64(b))
	*p5, *p6, *p7, *p8 = "text", o[1:3], &o[5], b
	(&list)[1], (&p).a = int32(a), b
	*r = 8
	pl := &p
	pp := &pl
	(*pp).b = 3
	o[0], o[1], o[2], o[3] = bit(yes), int64(u), bits32(f), bits64(imag(c))
	o[4], o[6], o[7], o[8] = int64(len(s)), int64(list[1]), p.a+p.b, q[0]
	o[9], o[10] = (*p9)(a, b), kind(*p8)
	m := &list
	pm := &m
	(**pm)[2] = 5
	o[11] = int64(list[2])
}

// Values of all types in interfaces.
//
//gpu:kernel
func boxes(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	list := [2]int64{a, b}
	values := [...]any{any(a > 0), any(a), any(uint8(b)), any(float32(a)), any(complex(1, 2)), any("text"), any(list), any(in), any(pair{a, b}),
		any(&o[0]), any(&list), any(largest), any(any(a)), any([]byte{1}), any([]rune{2})}
	if x, ok := values[0].(bool); ok && x {
		o[0] = 1
	}
	o[1], o[2] = values[1].(int64), int64(values[2].(uint8))
	o[3], o[4] = bits32(values[3].(float32)), bits64(imag(values[4].(complex128)))
	o[5], o[6], o[7] = int64(len(values[5].(string))), values[6].([2]int64)[1], values[7].([]int64)[0]
	o[8], o[9] = values[8].(pair).sum(), *values[9].(*int64)
	values[10].(*[2]int64)[1] = 7
	o[10], o[11] = list[1], values[11].(func(a, b int64) int64)(a, b)
	o[12] = values[12].(int64) + int64(values[13].([]byte)[0]) + int64(values[14].([]rune)[0])
	o[13] = boxed(a) + boxed(b)
}

func boxed[T any](x T) int64 { return kind(any(x)) }

// More conversions: between unsigned integers and floats, and of types with the same form.
//
//gpu:kernel
func moreConversions(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	f := float64(b&255) / 2
	o[0], o[1], o[2] = int64(uint32(f)), bits64(float64(uint64(a))), int64(uint8(uint32(b)))
	o[3], o[4] = int64(uintptr(f)), int64(uint16(uintptr(a)))
	type bytes []byte
	type runes []rune
	type quad [2]int64
	list := [2]int64{a, b}
	s, r := bytes([]byte{1, uint8(b)}), runes([]rune{3, rune(a)})
	o[5], o[6] = int64([]byte(s)[1]), int64([]rune(r)[1])
	o[7], o[8] = int64([2]rune(r)[1]), int64((*[2]byte)(s)[1])
	o[9], o[10] = int64((*[2]rune)(r)[0]), int64([2]byte(s)[0])
	o[11] = (*quad)(&list)[1]
	text := "text"
	if a > 0 {
		text = "longer"
	}
	o[12] = int64(len(named(text)))
	o[13], o[14] = half(a), int64(half(float32(b)))
	type words []int32
	o[15] = int64(words(r)[1] + []rune(words(r))[0])
	o[16] = bit(m(&list) != nil) + bit([]byte(s) == nil)
}

type m *[2]int64

func half[T ~int64 | ~float32](x T) T { return T(int64(x)/2) + T(float64(x)) }
