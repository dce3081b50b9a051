// Package arith contains the kernels of arithmetic on two arrays, or on an array and a number. Each
// kernel has a parameter that selects the operation and, if the kernel is for several types, the type.
// F16 and BF16 are computed in float32 and rounded.
package arith

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The operations. They can be combined with Swapped, and with a type.
const (
	Add = iota
	Sub
	Mul
	Div
	Max
	Min

	Swapped  = 8   // of a number and an array: the number is the first operand
	Unsigned = 16  // unsigned integers instead of signed ones
	Scalar   = 128 // an array and a number instead of two arrays
	Float    = 256 // floats of 32 or 64 bits instead of integers
)

// Of returns the part of an operation that selects the type of floats.
func Of(kind pack.Kind) uint32 { return uint32(kind) << 5 }

func kindOf(op uint32) pack.Kind { return pack.Kind(op >> 5 & 3) }

// The second operand of the kernels is an array of m elements at b, which is repeated, or with Scalar the number c.

// The host passes the number of arith_b32 and arith_b64 in its own type. A launch accepts an integer and a float for the
// same parameter only if the parameter is an array.

//gpu:kernel block=256 minblocks=8
func arith_b32(t gpu.Thread, dst, n, a, b, m uint64, c [2]uint16, op uint32) {
	words[uint32](t, dst, n, a, b, m, uint32(c[1])<<16|uint32(c[0]), op, func(x, y *pack.Words, op uint32) {
		if op&Float == 0 {
			ints[int32](op, x[:], y[:])
			return
		}
		u, v := x.Singles(), y.Singles()
		floats(op, u[:], v[:])
		*x = pack.FromSingles(&u)
	})
}

//gpu:kernel block=256 minblocks=8
func arith_half(t gpu.Thread, dst, n, a, b, m uint64, c num.F16, op uint32) {
	words[uint16](t, dst, n, a, b, m, uint32(c.Bits())*0x10001, op, func(x, y *pack.Words, op uint32) {
		kind := kindOf(op)
		u, v := x.Halves(kind), y.Halves(kind)
		floats(op, u[:], v[:])
		*x = pack.FromHalves(kind, &u, true)
	})
}

//gpu:kernel block=256
func arith_b64(t gpu.Thread, dst, n, a, b, m uint64, c [2]uint32, op uint32) {
	pack.Each[uint64](t, dst, n, 2, func(p pack.Part) {
		number := uint64(c[1])<<32 | uint64(c[0])
		x, y := pack.Elements[uint64]{}, pack.Elements[uint64]{number, number}
		pack.Load(p, a, 2, &x)
		if op&Scalar == 0 {
			pack.LoadRepeated(p, b, n, m, 2, &y)
		} else if op&Swapped != 0 {
			x[0], x[1], y[0], y[1] = y[0], y[1], x[0], x[1]
		}
		if op&Float == 0 {
			ints[int64](op, x[:2], y[:2])
		} else {
			doubles(op, &x, &y)
		}
		pack.Store(p, dst, 2, &x)
	})
}

// words stores the packs of a that compute has changed.
func words[B pack.Short](t gpu.Thread, dst, n, a, b, m uint64, c, op uint32, compute func(x, y *pack.Words, op uint32)) {
	pack.Each[B](t, dst, n, pack.Full[B](), func(p pack.Part) {
		op := pack.Fresh(op)
		x, y := pack.LoadWords[B](p, a), pack.Words{c, c, c, c}
		if op&Scalar == 0 {
			y = pack.LoadWordsRepeated[B](p, b, n, m)
		} else if op&Swapped != 0 {
			x, y = y, x
		}
		compute(&x, &y, op)
		pack.StoreWords[B](p, dst, x)
	})
}

// ints computes with integers. S is the signed type. A division by 0 returns 0.
func ints[S int32 | int64, B uint32 | uint64](op uint32, x, y []B) {
	switch op &^ (Swapped | Scalar) {
	case Add, Add | Unsigned:
		for k := range x {
			x[k] += y[k]
		}
	case Sub, Sub | Unsigned:
		for k := range x {
			x[k] -= y[k]
		}
	case Mul, Mul | Unsigned:
		for k := range x {
			x[k] *= y[k]
		}
	case Div:
		for k := range x {
			x[k] = B(quotient(S(x[k]), S(y[k])))
		}
	case Div | Unsigned:
		for k := range x {
			x[k] = quotient(x[k], y[k])
		}
	case Max:
		for k := range x {
			x[k] = B(max(S(x[k]), S(y[k])))
		}
	case Max | Unsigned:
		for k := range x {
			x[k] = max(x[k], y[k])
		}
	case Min:
		for k := range x {
			x[k] = B(min(S(x[k]), S(y[k])))
		}
	case Min | Unsigned:
		for k := range x {
			x[k] = min(x[k], y[k])
		}
	}
}

func quotient[T int32 | int64 | uint32 | uint64](a, b T) T {
	if b != 0 {
		return a / b
	}
	return 0
}

func doubles(op uint32, x, y *pack.Elements[uint64]) {
	var a, b [2]float64
	for k := range a {
		a[k], b[k] = math.Float64frombits(x[k]), math.Float64frombits(y[k])
	}
	floats(op, a[:], b[:])
	for k := range a {
		x[k] = math.Float64bits(a[k])
	}
}

// floats computes with floats.
func floats[T float32 | float64](op uint32, x, y []T) {
	switch op & 7 {
	case Add:
		for k := range x {
			x[k] += y[k]
		}
	case Sub:
		for k := range x {
			x[k] -= y[k]
		}
	case Mul:
		for k := range x {
			x[k] *= y[k]
		}
	case Div:
		for k := range x {
			x[k] /= y[k]
		}
	case Max:
		for k := range x {
			x[k] = num.Max(x[k], y[k])
		}
	case Min:
		for k := range x {
			x[k] = num.Min(x[k], y[k])
		}
	}
}
