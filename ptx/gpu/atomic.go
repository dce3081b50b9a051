package gpu

import "github.com/purecuda/cuda/ptx/num"

// AtomicOption is the scope or the memory order of an atomic operation. Options must be constants.
// A call accepts at most one scope and one order. The defaults are device scope and relaxed order.
type AtomicOption uint8

// The scopes. An operation is atomic and ordered only with respect to the threads in its scope.
const (
	ScopeBlock AtomicOption = 1 + iota
	ScopeCluster
	ScopeDevice
	ScopeSystem // includes the host and other devices
)

// The memory orders. An Acquire operation happens before all later accesses of the thread. A
// Release operation happens after all earlier accesses. AcqRel has both properties.
const (
	Relaxed AtomicOption = 16 + iota
	Acquire
	Release
	AcqRel
)

// Integer lists the 32-bit and 64-bit integer types.
type Integer interface {
	~int32 | ~uint32 | ~int64 | ~uint64 | ~int | ~uint
}

// Number lists the 32-bit and 64-bit integer and floating-point types.
type Number interface {
	Integer | ~float32 | ~float64
}

// AtomicNumber lists the types that AtomicAdd supports.
type AtomicNumber interface {
	Number | num.F16 | num.BF16
}

// AtomicValue lists the types that can be loaded, stored and exchanged atomically.
type AtomicValue interface {
	AtomicNumber | ~uintptr | ~int16 | ~uint16
}

// AtomicAdd adds v to *p and returns the previous value (atomicAdd). On a device, float32 additions
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

// AtomicInc stores *p+1 in *p, or 0 if *p >= limit, and returns the previous value (atomicInc).
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

// AtomicDec stores *p-1 in *p, or limit if *p is 0 or greater than limit, and returns the previous
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
// the previous value and whether it stored value. A retry loop can pass the previous value as old
// in the next call.
//
//gpu:intrinsic
func AtomicCompareAndSwap[T AtomicValue](p *T, old, value T, options ...AtomicOption) (previous T, swapped bool) {
	return atomicSwap(p, old, value, options)
}

// AtomicLoad returns *p. The only orders it accepts are Relaxed and Acquire.
//
//gpu:intrinsic
func AtomicLoad[T AtomicValue](p *T, options ...AtomicOption) T { return atomicLoad(p, options) }

// AtomicStore stores v in *p. The only orders it accepts are Relaxed and Release.
//
//gpu:intrinsic
func AtomicStore[T AtomicValue](p *T, v T, options ...AtomicOption) { atomicStore(p, v, options) }
