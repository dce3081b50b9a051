package gpu

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// warp is a running warp.
type warp struct {
	alive uint32 // mask of lanes that have not exited, including panicked lanes
	slots [WarpSize]slot
}

// slot is a lane's part of a collective operation.
type slot struct {
	waits  bool
	s      *thread
	call   string
	mask   uint32
	width  int // width of a shuffle
	in     uint64
	out    uint64
	arg    int
	finish func(w *warp, lanes uint32) // sets the results of all lanes
}

// undefined is the value read from lanes that do not take part in an operation. It is a NaN in
// every format.
const undefined = 0xfffa_fffa_fffa_fffa

// collective waits for the lanes of mask and returns the result for the calling lane.
func (t Thread) collective(call string, mask uint32, in uint64, finish func(*warp, uint32)) uint64 {
	return t.exchange(slot{call: call, mask: mask, in: in, finish: finish})
}

// exchange waits for the lanes of op.mask that have not exited to make the same call.
func (t Thread) exchange(op slot) uint64 {
	s := t.self()
	b := s.block
	w, lane := &b.warps[s.rank/WarpSize], s.rank%WarpSize
	if op.mask>>lane&1 == 0 {
		panic(fmt.Errorf("%s: the mask %#08x does not contain the calling lane, %d", op.call, op.mask, lane))
	}
	b.unit.mu.Lock()
	defer b.unit.mu.Unlock()
	op.waits, op.s = true, s
	w.slots[lane] = op
	if !w.try(lane) {
		s.park(waitFor{call: op.call, mask: op.mask})
	}
	return w.slots[lane].out
}

// try completes a lane's operation if all lanes of the mask have arrived.
func (w *warp) try(lane int) bool {
	of := w.slots[lane]
	lanes := of.mask & w.alive
	for m := lanes; m != 0; m &= m - 1 {
		o := &w.slots[bits.TrailingZeros32(m)]
		if !o.waits || o.call != of.call || o.mask != of.mask || o.width != of.width {
			return false
		}
	}
	if of.finish != nil {
		of.finish(w, lanes)
	}
	for m := lanes; m != 0; m &= m - 1 {
		o := &w.slots[bits.TrailingZeros32(m)]
		o.waits = false
		if o.s.parked {
			o.s.release()
		}
	}
	return true
}

// retry completes the operations that were waiting for a lane that has exited.
func (w *warp) retry() {
	for i := range w.slots {
		if w.slots[i].waits {
			w.try(i)
		}
	}
}

// bitsOf returns the bits of a value of up to 8 bytes.
func bitsOf[T any](v T) (x uint64) {
	*(*T)(unsafe.Pointer(&x)) = v
	return x
}

func valueOf[T any](x uint64) T { return *(*T)(unsafe.Pointer(&x)) }

// shuffle implements the shfl.sync instruction.
func shuffle[T Scalar](t Thread, call string, mask uint32, v T, arg, width int) T {
	if width < 1 || width > WarpSize || width&(width-1) != 0 {
		panic(fmt.Errorf("%s: the width %d is not a power of two up to %d", call, width, WarpSize))
	}
	op := slot{call: call, mask: mask, width: width, in: bitsOf(v), arg: arg, finish: shuffled}
	return valueOf[T](t.exchange(op))
}

func shuffled(w *warp, lanes uint32) {
	for m := lanes; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		o := &w.slots[lane]
		from := sourceLane(o.call, lane, o.arg, o.width)
		if o.out = undefined; lanes>>from&1 != 0 {
			o.out = w.slots[from].in
		}
	}
}

// sourceLane returns the index of the lane that the given lane reads from.
func sourceLane(call string, lane, arg, width int) int {
	first := lane &^ (width - 1)
	last := first + width - 1
	from := lane
	switch {
	case call == "Shuffle":
		return first | arg&(width-1)
	case uint(arg) >= WarpSize: // the source lane does not exist
		return lane
	}
	switch call {
	case "ShuffleUp":
		if from = lane - arg; from < first {
			return lane
		}
		return from
	case "ShuffleDown":
		from = lane + arg
	case "ShuffleXor":
		from = lane ^ arg
	}
	if from > last {
		return lane
	}
	return from
}

// vote returns a mask of the lanes for which pred is true.
func vote(t Thread, call string, mask uint32, pred bool) uint32 {
	in := uint64(0)
	if pred {
		in = 1
	}
	return uint32(t.collective(call, mask, in, func(w *warp, lanes uint32) {
		var ballot uint64
		for m := lanes; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m)
			ballot |= w.slots[lane].in << lane
		}
		w.all(lanes, ballot)
	}))
}

// all sets the same result for all lanes.
func (w *warp) all(lanes uint32, out uint64) {
	for m := lanes; m != 0; m &= m - 1 {
		w.slots[bits.TrailingZeros32(m)].out = out
	}
}

func activeMask(t Thread) uint32 {
	s := t.self()
	s.block.unit.mu.Lock()
	defer s.block.unit.mu.Unlock()
	return s.block.warps[s.rank/WarpSize].alive
}

func matchAny[T Scalar](t Thread, mask uint32, v T) uint32 {
	return uint32(t.collective("MatchAny", mask, bitsOf(v), func(w *warp, lanes uint32) {
		for m := lanes; m != 0; m &= m - 1 {
			o := &w.slots[bits.TrailingZeros32(m)]
			for n := lanes; n != 0; n &= n - 1 {
				if lane := bits.TrailingZeros32(n); w.slots[lane].in == o.in {
					o.out |= 1 << lane
				}
			}
		}
	}))
}

func matchAll[T Scalar](t Thread, mask uint32, v T) (uint32, bool) {
	lanes := uint32(t.collective("MatchAll", mask, bitsOf(v), func(w *warp, lanes uint32) {
		first := w.slots[bits.TrailingZeros32(lanes)].in
		for m := lanes; m != 0; m &= m - 1 {
			if w.slots[bits.TrailingZeros32(m)].in != first {
				return
			}
		}
		w.all(lanes, uint64(lanes))
	}))
	return lanes, lanes != 0
}

func reduce[T Reducible](t Thread, call string, mask uint32, v T, f func(a, b T) T) T {
	return valueOf[T](t.collective(call, mask, bitsOf(v), func(w *warp, lanes uint32) {
		r := valueOf[T](w.slots[bits.TrailingZeros32(lanes)].in)
		for m := lanes & (lanes - 1); m != 0; m &= m - 1 {
			r = f(r, valueOf[T](w.slots[bits.TrailingZeros32(m)].in))
		}
		w.all(lanes, bitsOf(r))
	}))
}
