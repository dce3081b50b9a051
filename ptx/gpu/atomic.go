package gpu

import "github.com/purecuda/cuda/ptx/num"

// AtomicOption is a scope or an order of an atomic operation. The arguments must be constants, at
// most one of each kind. Without options, an operation has device scope and no order.
type AtomicOption uint8

// The scopes: the threads for which an operation is atomic and ordered.
const (
	ScopeBlock AtomicOption = 1 + iota
	ScopeCluster
	ScopeDevice
	ScopeSystem // also the host and other devices
)

// The orders. An operation with Acquire happens before all later accesses of the thread. An
// operation with Release happens after all earlier accesses. AcqRel has both properties.
const (
	Relaxed AtomicOption = 16 + iota
	Acquire
	Release
	AcqRel
)

// Integer lists the types of integers with 32 and 64 bits.
type Integer interface {
	~int32 | ~uint32 | ~int64 | ~uint64 | ~int | ~uint
}

// Number lists the types of integers and floating-point numbers with 32 and 64 bits.
type Number interface {
	Integer | ~float32 | ~float64
}

// AtomicNumber lists the types that AtomicAdd adds.
type AtomicNumber interface {
	Number | num.F16 | num.BF16
}

// AtomicValue lists the types that can be loaded, stored and exchanged atomically.
type AtomicValue interface {
	AtomicNumber | ~uintptr | ~int16 | ~uint16
}

// AtomicAdd adds v to *p and returns the previous value (atomicAdd). On a device, sums of float32
// in global memory flush subnormal numbers to zero.
//
//gpu:intrinsic
func AtomicAdd[T AtomicNumber](p *T, v T, options ...AtomicOption) T {
	return atomicUpdate(p, options, func(x T) T { return add(x, v) })
}

// AtomicSub subtracts v from *p and returns the previous value (atomicSub).
//
//gpu:intrinsic
func AtomicSub[T AtomicNumber](p *T, v T, options ...AtomicOption) T {
	return atomicUpdate(p, options, func(x T) T { return sub(x, v) })
}

// AtomicMin stores the smaller of *p and v in *p and returns the previous value (atomicMin).
//
//gpu:intrinsic
func AtomicMin[T Integer](p *T, v T, options ...AtomicOption) T {
	return atomicUpdate(p, options, func(x T) T { return min(x, v) })
}

// AtomicMax stores the larger of *p and v in *p and returns the previous value (atomicMax).
//
//gpu:intrinsic
func AtomicMax[T Integer](p *T, v T, options ...AtomicOption) T {
	return atomicUpdate(p, options, func(x T) T { return max(x, v) })
}

// AtomicAnd stores *p & v in *p and returns the previous value (atomicAnd).
//
//gpu:intrinsic
func AtomicAnd[T Integer](p *T, v T, options ...AtomicOption) T {
	return atomicUpdate(p, options, func(x T) T { return x & v })
}

// AtomicOr stores *p | v in *p and returns the previous value (atomicOr).
//
//gpu:intrinsic
func AtomicOr[T Integer](p *T, v T, options ...AtomicOption) T {
	return atomicUpdate(p, options, func(x T) T { return x | v })
}

// AtomicXor stores *p ^ v in *p and returns the previous value (atomicXor).
//
//gpu:intrinsic
func AtomicXor[T Integer](p *T, v T, options ...AtomicOption) T {
	return atomicUpdate(p, options, func(x T) T { return x ^ v })
}

// AtomicInc stores 0 in *p if *p >= limit, or else *p+1, and returns the previous value
// (atomicInc).
//
//gpu:intrinsic
func AtomicInc[T ~uint32](p *T, limit T, options ...AtomicOption) T {
	return atomicUpdate(p, options, func(x T) T {
		if x >= limit {
			return 0
		}
		return x + 1
	})
}

// AtomicDec stores limit in *p if *p is 0 or above limit, or else *p-1, and returns the previous
// value (atomicDec).
//
//gpu:intrinsic
func AtomicDec[T ~uint32](p *T, limit T, options ...AtomicOption) T {
	return atomicUpdate(p, options, func(x T) T {
		if x == 0 || x > limit {
			return limit
		}
		return x - 1
	})
}

// AtomicExchange stores v in *p and returns the previous value (atomicExch).
//
//gpu:intrinsic
func AtomicExchange[T AtomicValue](p *T, v T, options ...AtomicOption) T {
	return atomicUpdate(p, options, func(T) T { return v })
}

// AtomicCompareAndSwap stores value in *p if *p has the same bits as old (atomicCAS). It returns
// the previous value, and whether it stored value. A loop can use previous as the next old.
//
//gpu:intrinsic
func AtomicCompareAndSwap[T AtomicValue](p *T, old, value T, options ...AtomicOption) (previous T, swapped bool) {
	return atomicSwap(p, old, value, options)
}

// AtomicLoad returns *p. Of the orders, it accepts Relaxed and Acquire.
//
//gpu:intrinsic
func AtomicLoad[T AtomicValue](p *T, options ...AtomicOption) T { return atomicLoad(p, options) }

// AtomicStore stores v in *p. Of the orders, it accepts Relaxed and Release.
//
//gpu:intrinsic
func AtomicStore[T AtomicValue](p *T, v T, options ...AtomicOption) { atomicStore(p, v, options) }
