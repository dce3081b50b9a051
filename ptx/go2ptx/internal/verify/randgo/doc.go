// Package randgo generates random kernels in Go, which serve to compare the compiler with Go
// itself.
//
// The results of a kernel never depend on an order that Go or the GPU does not specify. Threads
// write only to their own elements. Atomic operations on shared elements commute, and the old
// values that they return are not used. Only one thread can fault, and only after the last barrier.
// The contents of memory after a fault are not compared.
package randgo

import (
	"fmt"
	"math/rand/v2"
)

// Signature is the signature of every kernel, which follows its name.
const Signature = `(t gpu.Thread, oi []int64, of []float64, og []float32, cells []int32, wide []uint64, ` +
	`ii []int32, il []int64, ib []uint8, is []int16, fs []float32, fd []float64, p P, n int, m uint32, x float32, y float64, w W)`

// Kernel is the source of a kernel and of the functions it calls.
type Kernel struct {
	Name string
	Text string
	// Directive is the comment before the kernel.
	Directive string
	// Faults is set if thread FaultThread can fault.
	Faults bool
	// Converges is set if the kernel contains barriers, shuffles, atomics, and loops whose number
	// of iterations differs between threads.
	Converges bool
	// Fuses is set if the results are the same whether or not multiplications and additions are
	// fused.
	Fuses bool
	Uses  map[string]int // number of uses of each language construct, for coverage
}

// Prelude contains the declarations that the kernels of a file share.
const Prelude = `
type vec struct{ x, y, z float32 }

func (v vec) dot(w vec) float32 { return v.x*w.x + v.y*w.y + v.z*w.z }

func (v *vec) scale(s float32) { v.x, v.y, v.z = v.x*s, v.y*s, v.z*s }

type stack[T any] struct {
	at   [8]T
	size int
}

func (s *stack[T]) push(v T) {
	if s.size < len(s.at) {
		s.at[s.size] = v
		s.size++
	}
}

func (s *stack[T]) pop() (v T, ok bool) {
	if s.size == 0 {
		return v, false
	}
	s.size--
	return s.at[s.size], true
}

type integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int | ~uint
}

type number interface{ integer | ~float32 | ~float64 }

func clampTo[T number](v, low, high T) T {
	if v < low {
		return low
	}
	if v > high {
		return high
	}
	return v
}

func fold[T, A any](s []T, first A, f func(A, T) A) A {
	for _, v := range s {
		first = f(first, v)
	}
	return first
}

func upTo(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; i < n; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

func pairs[T any](s []T) func(func(int, T) bool) {
	return func(yield func(int, T) bool) {
		for i := len(s) - 1; i >= 0; i-- {
			if !yield(i, s[i]) {
				return
			}
		}
	}
}

func small(v float64) bool { return v > -1e6 && v < 1e6 }

func notNaN[T float32 | float64](v T) T {
	if v != v {
		return 1
	}
	return v
}

func bits32(v float32) uint32 {
	if v != v {
		return 5
	}
	return math.Float32bits(v)
}

func bits64(v float64) uint64 {
	if v != v {
		return 5
	}
	return math.Float64bits(v)
}

func toInt(v float64) int64 {
	if small(v) {
		return int64(v)
	}
	return -77
}

func toUint32(v float32) uint32 {
	if v >= 0 && v < 4e9 {
		return uint32(v)
	}
	return 99
}

func gcd(a, b uint32) uint32 {
	if b == 0 {
		return a
	}
	return gcd(b, a%b)
}

func ack(m, n int) int {
	if m == 0 {
		return n + 1
	}
	if n == 0 {
		return ack(m-1, 1)
	}
	return ack(m-1, ack(m, n-1))
}

func both(a, b int64) (int32, uint8, float32) { return int32(a - b), uint8(a ^ b), float32(a) }

//gpu:noinline
func bothCalled(a, b int64) (int32, uint8, float32) { return int32(a + b), uint8(a &^ b), float32(b) }

//gpu:noinline
func halve(h num.F16, k num.BF16, ok bool) (num.F16, bool) {
	if ok {
		return h.Mul(num.To[num.F16](0.5)), k.Less(num.To[num.BF16](h))
	}
	return num.To[num.F16](k), !ok && h.IsNaN()
}

func divide(a, b int32) int32 { return a / b }

//gpu:noinline
func divideCalled(a, b int32) int32 { return a / b }

//gpu:noinline
func bump(p *int32, q *int32, by int32) int32 {
	*p += by
	old := *q
	*p ^= old
	return old + *q
}

func rotate[T number](t gpu.Thread, tile *[64]T, v T, by int) T {
	tile[t.ThreadX()] = v
	t.Sync()
	v = tile[(t.ThreadX()+by)%64]
	t.Sync()
	return v
}

//gpu:noinline
func rotateCalled[T number](t gpu.Thread, tile *[64]T, v T, by int) T {
	tile[t.ThreadX()] = v
	t.Sync()
	v -= tile[(t.ThreadX()+by)%64]
	t.Sync()
	return v
}

var scratch gpu.Global[[128]int64]

var scratch32 gpu.Global[[128]uint32]

var seeds = gpu.GlobalOf([4]int64{3, -1, 1 << 40, -77})

var limits = gpu.ConstantOf([8]int16{1, -2, 30, -400, 5000, -6000, 7, 8})

var primes = [12]uint16{2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}

var heights = [4]int16{-30000, 5, -1, 300}

var waves = [...]float32{0.5, -1.25, 3, 1e-3, 7.75, -0}

var boxes = [3]R{{1, -2}, {250, 1 << 40}, {7, -7}}
`

// directive returns the comment before a kernel. No two arguments overlap, so each may be restrict.
// The directive does not depend on the random numbers of the body, so that a change of the directive
// does not change the bodies.
func directive(seed uint64) string {
	text := fmt.Sprintf("//gpu:kernel block=%d", Block)
	return text + []string{"", " restrict", " restrict=ii,il,fs,cells", " restrict=oi,of,og,wide,cells,ib", " restrict=oi"}[seed*2654435761>>8%5]
}

// New generates a kernel. The same seed always results in the same kernel.
func New(name string, seed uint64) *Kernel {
	g := &gen{seed: seed, r: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), k: &Kernel{Name: name, Directive: directive(seed), Uses: map[string]int{}}, name: name}
	g.kernel()
	return g.k
}
