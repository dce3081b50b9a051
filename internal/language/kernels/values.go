package kernels

import (
	"math"
	"unsafe"

	"github.com/purecuda/cuda/ptx/gpu"
)

// Variables of all numeric types, bool and string.
//
//gpu:kernel
func basicTypes(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	var x = struct {
		i   int
		i8  int8
		i16 int16
		i32 int32
		i64 int64
		u   uint
		u8  uint8
		u16 uint16
		u32 uint32
		u64 uint64
		p   uintptr
		f32 float32
		f64 float64
		c64 complex64
		c   complex128
		ok  bool
		s   string
		by  byte
		r   rune
	}{s: "text", ok: true}
	x.i, x.i8, x.i16, x.i32, x.i64 = int(a), int8(a), int16(a), int32(a), a
	x.u, x.u8, x.u16, x.u32, x.u64, x.p = uint(b), uint8(b), uint16(b), uint32(b), uint64(b), uintptr(b)
	x.f32, x.f64, x.by, x.r = float32(a), float64(b), byte(a), rune(b)
	x.c64, x.c = complex(x.f32, 1), complex(x.f64, 2)
	o[0], o[1], o[2], o[3], o[4] = int64(x.i*3), int64(x.i8*3), int64(x.i16*3), int64(x.i32*3), x.i64*3
	o[5], o[6], o[7], o[8], o[9], o[10] = int64(x.u*3), int64(x.u8*3), int64(x.u16*3), int64(x.u32*3), int64(x.u64*3), int64(x.p*3)
	o[11], o[12], o[13], o[14] = bits32(x.f32*3), bits64(x.f64*3), bits32(real(x.c64*x.c64)), bits64(imag(x.c*x.c))
	o[15], o[16], o[17], o[18] = bit(x.ok && a > 0), int64(len(x.s)), int64(x.by), int64(x.r)
	o[19], o[20] = int64(0x7F+0b11+0o17+1_000), bits64(0x1p-2+1e3)
	o[21] = bit(false)
}

// Structs, pointers, arrays, slices and composite literals of them.
//
//gpu:kernel
func composites(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	p := &point{x: a, y: [2]int64{1: b}}
	q := *p
	q.y[0], p.x = 5, 6
	o[0], o[1], o[2] = p.x, q.x+q.y[0], (*p).y[1]
	list := []point{{a, [2]int64{}}, {x: b}, 4: {x: 3}}
	o[3], o[4] = int64(len(list)), list[a&1].x
	rows := [...][2]int64{{1, 2}, {3, a}}
	rows[b&1][1]++
	o[5] = rows[1][1] + rows[0][1]
	refs := [2]*point{{x: a}, p}
	refs[0].x++
	o[6] = refs[0].x + refs[1].x
	var empty struct{}
	_ = empty
	n := new(int64)
	*n += a
	o[7] = *n
	pp := &n
	**pp = 4
	o[8] = *n
	anonymous := struct {
		a, _ int64
		b    struct{ c int64 } `tag:"x"`
	}{a: a}
	anonymous.b.c = b
	o[9] = anonymous.a + anonymous.b.c
	o[10] = table[a&3] + int64(wave.x)
}

type point struct {
	x int64
	y [2]int64
}

var table = [4]int64{2, 3, 5, 7}

var wave = point{x: 11}

// Indexing and slicing of arrays, pointers to arrays, slices and constant strings.
//
//gpu:kernel
func indexing(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	list := [6]int64{a, b, 2, 3, 4, 5}
	p := &list
	i := int(a & 3)
	o[0], o[1], o[2] = list[i], p[i], in[i]
	s, u, v := list[i:], p[1:4:5], in[:3:5]
	o[11], o[12] = int64(cap(list[:2:3])), int64(cap(p[2:]))
	o[3], o[4], o[5] = s[0], u[2], int64(cap(v))
	w := s[1:2]
	w[0] = 9
	o[6], o[7], o[8] = list[i+1], int64(cap(w)), int64(len(p[:]))
	text := "abcdef"
	o[9], o[10] = int64(text[i]), int64(text[i:][1])
}

// Conversions between numbers, of slices to arrays, of strings, pointers, structs and functions.
//
//gpu:kernel
func conversions(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	f := float32(a) / 4
	o[0], o[1], o[2] = int64(f), int64(int8(a)), int64(uint16(b))
	o[3], o[4] = bits64(float64(f)), bits32(float32(float64(b)/3))
	c := complex64(complex(float64(a), float64(b)))
	o[5], o[6] = bits32(real(c)), bits64(imag(complex128(c)))
	four := (*[4]int64)(in)
	two := [2]int64(in[1:])
	o[7], o[8] = four[a&3], two[b&1]
	d := (*distance)(&o[9])
	*d += distance(a)
	s := other(pair{a, b})
	o[10] = s.b
	o[11] = int64(len(string(named("text"))))
	var x any = summer(pair{a, b})
	o[12] = kind(any(x))
	o[13] = bit(bool(truth(a > 0)))
	o[14] = [2]int64(row{a, b})[1] + rowOf(in)[0]
	g := callback(largest)
	o[15] = g(a, b)
	o[16] = int64(uintptr(b)) + int64(generic[int16](a))
	o[17] = int64(slice(o)[0] + 1)
	o[18] = int64(math.Float32bits(float32(uint64(b))))
}

type (
	distance int64
	other    pair
	truth    bool
	row      [2]int64
	callback func(a, b int64) int64
	slice    []int64
)

func rowOf(s []int64) row { return row(s) }

func generic[T ~int16 | ~int32](x int64) T { return T(x) }

// Builtin functions.
//
//gpu:kernel
func builtins(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	o[0], o[1] = min(a, b, 4), max(a, b)
	o[2] = bits64(min(float64(a), 2.5))
	o[3] = int64(copy(o[10:14], in[:3]))
	o[4], o[5] = int64(len(in)), int64(cap(in[:2]))
	clear(o[12:13])
	c := complex(float32(a), float32(b))
	o[6], o[7] = bits32(real(c)), bits32(imag(c))
	p := new(int32)
	*p = int32(a)
	o[8] = int64(*p)
	s := make([]int64, 3, 4)
	s[2] = b
	o[9] = s[2] + int64(cap(s))
	o[14] = int64(len([3]int{}) + len("text"))
}

// A panic ends the thread with a fault that has the message.
//
//gpu:kernel
func panics(t gpu.Thread, in, out []int64) {
	a, _, o := args(t, in, out)
	if a == 100 {
		panic("one hundred")
	}
	o[0] = a
}

// Sizes and offsets are constants.
//
//gpu:kernel
func sizes(t gpu.Thread, in, out []int64) {
	_, _, o := args(t, in, out)
	var p point
	o[0], o[1], o[2] = int64(unsafe.Sizeof(p)), int64(unsafe.Alignof(p.x)), int64(unsafe.Offsetof(p.y))
}

// Package-level constants, tables in constant memory, and device variables.
//
//gpu:kernel
func packageVariables(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	o[0] = table[a&3] * wave.x
	o[1] = int64(factor) + states[b&1].n
	if t.ThreadX() == 0 {
		hits.Store(b)
	}
	t.Sync()
	gpu.AtomicAdd(hits.Ptr(), 1)
	t.Sync()
	o[2] = hits.Load()
}

const factor = 2.0 * Threads

var states = []counter{{4}, {n: 5}}

var hits gpu.Global[int64]

// Barriers and shared memory.
//
//gpu:kernel block=8
func sharedMemory(t gpu.Thread, in, out []int64) {
	a, b, o := args(t, in, out)
	s := gpu.Shared[[Threads]int64](t)
	s[t.ThreadX()] = a + b
	t.Sync()
	o[0] = s[(t.ThreadX()+1)%Threads]
}
