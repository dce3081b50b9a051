package gpu

import "github.com/purecuda/cuda/ptx/num"

// Scalar lists the numeric types that lanes can exchange.
type Scalar interface {
	Number | ~int8 | ~uint8 | ~int16 | ~uint16 | ~uintptr | num.F16 | num.BF16 | num.E4M3 | num.E5M2
}

// Shuffle returns the value v of another lane (shfl.sync, __shfl_sync). The lane index is taken
// modulo WarpSize. The package documentation describes the common rules of all warp functions.
//
//gpu:intrinsic
func Shuffle[T Scalar](t Thread, v T, lane int) T { return ShuffleMask(t, FullMask, v, lane, WarpSize) }

// ShuffleUp returns the value v of the lane whose index is lower by delta, or the caller's v if
// there is no such lane (__shfl_up_sync).
//
//gpu:intrinsic
func ShuffleUp[T Scalar](t Thread, v T, delta int) T {
	return ShuffleUpMask(t, FullMask, v, delta, WarpSize)
}

// ShuffleDown returns the value v of the lane whose index is higher by delta, or the caller's v if
// there is no such lane (__shfl_down_sync).
//
//gpu:intrinsic
func ShuffleDown[T Scalar](t Thread, v T, delta int) T {
	return ShuffleDownMask(t, FullMask, v, delta, WarpSize)
}

// ShuffleXor returns the value v of the lane whose index is the caller's index xor mask, or the
// caller's v if there is no such lane (__shfl_xor_sync).
//
//gpu:intrinsic
func ShuffleXor[T Scalar](t Thread, v T, mask int) T {
	return ShuffleXorMask(t, FullMask, v, mask, WarpSize)
}

// ShuffleMask is like Shuffle, but only for the lanes of a mask. The warp is divided into sections
// of width lanes, a constant power of two up to WarpSize. The lane index is taken modulo width,
// within the caller's section.
//
//gpu:intrinsic
func ShuffleMask[T Scalar](t Thread, mask uint32, v T, lane, width int) T {
	return shuffle(t, "Shuffle", mask, v, lane, width)
}

// ShuffleUpMask is like ShuffleUp, but only for the lanes of a mask, in sections of width lanes.
//
//gpu:intrinsic
func ShuffleUpMask[T Scalar](t Thread, mask uint32, v T, delta, width int) T {
	return shuffle(t, "ShuffleUp", mask, v, delta, width)
}

// ShuffleDownMask is like ShuffleDown, but only for the lanes of a mask, in sections of width
// lanes.
//
//gpu:intrinsic
func ShuffleDownMask[T Scalar](t Thread, mask uint32, v T, delta, width int) T {
	return shuffle(t, "ShuffleDown", mask, v, delta, width)
}

// ShuffleXorMask is like ShuffleXor, but only for the lanes of a mask, in sections of width lanes.
// If the source lane is in a higher section, the result is v.
//
//gpu:intrinsic
func ShuffleXorMask[T Scalar](t Thread, mask uint32, v T, lanes, width int) T {
	return shuffle(t, "ShuffleXor", mask, v, lanes, width)
}

// All reports whether pred is true for all lanes (__all_sync).
//
//gpu:intrinsic
func All(t Thread, pred bool) bool { return AllMask(t, FullMask, pred) }

// Any reports whether pred is true for any lane (__any_sync).
//
//gpu:intrinsic
func Any(t Thread, pred bool) bool { return AnyMask(t, FullMask, pred) }

// Ballot returns a mask of the lanes for which pred is true (__ballot_sync).
//
//gpu:intrinsic
func Ballot(t Thread, pred bool) uint32 { return BallotMask(t, FullMask, pred) }

// AllMask is like All, but only for the lanes of a mask.
//
//gpu:intrinsic
func AllMask(t Thread, mask uint32, pred bool) bool { return vote(t, "All", mask, !pred) == 0 }

// AnyMask is like Any, but only for the lanes of a mask.
//
//gpu:intrinsic
func AnyMask(t Thread, mask uint32, pred bool) bool { return vote(t, "Any", mask, pred) != 0 }

// BallotMask is like Ballot, but only for the lanes of a mask.
//
//gpu:intrinsic
func BallotMask(t Thread, mask uint32, pred bool) uint32 { return vote(t, "Ballot", mask, pred) }

// ActiveMask returns a mask of the lanes that execute the call together (__activemask). The
// hardware determines which lanes these are, so the code must be correct for every subset that
// contains the calling lane. Run returns all lanes that have not exited.
//
//gpu:intrinsic
func ActiveMask(t Thread) uint32 { return activeMask(t) }

// MatchAny returns a mask of the lanes whose v has the same bits as the caller's
// (__match_any_sync). It requires sm_70.
//
//gpu:intrinsic
func MatchAny[T Scalar](t Thread, v T) uint32 { return MatchAnyMask(t, FullMask, v) }

// MatchAll returns a mask of all lanes and true if v has the same bits in all lanes. Otherwise it
// returns 0 and false (__match_all_sync). It requires sm_70.
//
//gpu:intrinsic
func MatchAll[T Scalar](t Thread, v T) (uint32, bool) { return MatchAllMask(t, FullMask, v) }

// MatchAnyMask is like MatchAny, but only for the lanes of a mask.
//
//gpu:intrinsic
func MatchAnyMask[T Scalar](t Thread, mask uint32, v T) uint32 { return matchAny(t, mask, v) }

// MatchAllMask is like MatchAll, but only for the lanes of a mask. It returns the mask if all
// values match.
//
//gpu:intrinsic
func MatchAllMask[T Scalar](t Thread, mask uint32, v T) (uint32, bool) { return matchAll(t, mask, v) }

// Reducible lists the types that ReduceAdd and the other reductions support. On sm_80 and later, a
// reduction is a single instruction (redux.sync). For older architectures, the compiler uses
// shuffles.
type Reducible interface{ ~int32 | ~uint32 }

// ReduceAdd returns the sum of v over all lanes. Every lane gets the result (__reduce_add_sync).
//
//gpu:intrinsic
func ReduceAdd[T Reducible](t Thread, v T) T { return ReduceAddMask(t, FullMask, v) }

// ReduceMin returns the smallest v of all lanes. Every lane gets the result (__reduce_min_sync).
//
//gpu:intrinsic
func ReduceMin[T Reducible](t Thread, v T) T { return ReduceMinMask(t, FullMask, v) }

// ReduceMax returns the largest v of all lanes. Every lane gets the result (__reduce_max_sync).
//
//gpu:intrinsic
func ReduceMax[T Reducible](t Thread, v T) T { return ReduceMaxMask(t, FullMask, v) }

// ReduceAnd returns the bitwise AND of v over all lanes. Every lane gets the result
// (__reduce_and_sync).
//
//gpu:intrinsic
func ReduceAnd[T Reducible](t Thread, v T) T { return ReduceAndMask(t, FullMask, v) }

// ReduceOr returns the bitwise OR of v over all lanes. Every lane gets the result
// (__reduce_or_sync).
//
//gpu:intrinsic
func ReduceOr[T Reducible](t Thread, v T) T { return ReduceOrMask(t, FullMask, v) }

// ReduceXor returns the bitwise XOR of v over all lanes. Every lane gets the result
// (__reduce_xor_sync).
//
//gpu:intrinsic
func ReduceXor[T Reducible](t Thread, v T) T { return ReduceXorMask(t, FullMask, v) }

// ReduceAddMask is like ReduceAdd, but only for the lanes of a mask.
//
//gpu:intrinsic
func ReduceAddMask[T Reducible](t Thread, mask uint32, v T) T {
	return reduce(t, "ReduceAdd", mask, v, func(a, b T) T { return a + b })
}

// ReduceMinMask is like ReduceMin, but only for the lanes of a mask.
//
//gpu:intrinsic
func ReduceMinMask[T Reducible](t Thread, mask uint32, v T) T {
	return reduce(t, "ReduceMin", mask, v, func(a, b T) T { return min(a, b) })
}

// ReduceMaxMask is like ReduceMax, but only for the lanes of a mask.
//
//gpu:intrinsic
func ReduceMaxMask[T Reducible](t Thread, mask uint32, v T) T {
	return reduce(t, "ReduceMax", mask, v, func(a, b T) T { return max(a, b) })
}

// ReduceAndMask is like ReduceAnd, but only for the lanes of a mask.
//
//gpu:intrinsic
func ReduceAndMask[T Reducible](t Thread, mask uint32, v T) T {
	return reduce(t, "ReduceAnd", mask, v, func(a, b T) T { return a & b })
}

// ReduceOrMask is like ReduceOr, but only for the lanes of a mask.
//
//gpu:intrinsic
func ReduceOrMask[T Reducible](t Thread, mask uint32, v T) T {
	return reduce(t, "ReduceOr", mask, v, func(a, b T) T { return a | b })
}

// ReduceXorMask is like ReduceXor, but only for the lanes of a mask.
//
//gpu:intrinsic
func ReduceXorMask[T Reducible](t Thread, mask uint32, v T) T {
	return reduce(t, "ReduceXor", mask, v, func(a, b T) T { return a ^ b })
}
