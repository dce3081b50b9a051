package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/radix"
)

var radixSource = &radix.Code

// Sort returns the operations that sort src into dst, in ascending or descending order. dst and src
// have the same length, at most 2^30-1, and may be equal. work has at least SortWorkspace[K](n) bytes
// for n keys.
//
// Floating-point numbers are sorted by the order of IEEE 754: NaNs with a sign bit, -Inf, negative
// numbers, -0, 0, positive numbers, +Inf, and NaNs without a sign bit.
//
// The operations are launches that must run in order, such as with driver.Stream.Do or graph.Chain.
// Do not change their arguments: create the operations again.
func Sort[K Scalar](dst, src driver.MemoryOf[K], descending bool, work *Workspace, again ...driver.Op) ([]driver.Op, error) {
	s := sorting{name: "sort", dst: operandOf("dst", dst), src: operandOf("src", src), bits: orderOf[K](descending), ops: sequenceOf(again)}
	return s.prepare(work)
}

// SortWorkspace returns the size in bytes of a workspace that sorts n keys.
func SortWorkspace[K Scalar](n int) int { return radixParts(uint64(n), sizeOf[K](), 0).bytes() }

// SortPairs is like [Sort], and moves the elements of srcValues to the places of their keys, in
// dstValues. The sort is stable: values of equal keys stay in order. work has at least
// SortPairsWorkspace[K, V](n) bytes.
func SortPairs[K, V Scalar](dst, src driver.MemoryOf[K], dstValues, srcValues driver.MemoryOf[V], descending bool, work *Workspace, again ...driver.Op) ([]driver.Op, error) {
	s := sorting{name: "sort pairs", dst: operandOf("dst", dst), src: operandOf("src", src), bits: orderOf[K](descending), ops: sequenceOf(again)}
	s.values = [2]operand{operandOf("dstValues", dstValues), operandOf("srcValues", srcValues)}
	s.pairs = true
	return s.prepare(work)
}

// SortPairsWorkspace returns the size in bytes of a workspace that sorts n keys with values.
func SortPairsWorkspace[K, V Scalar](n int) int {
	return radixParts(uint64(n), sizeOf[K](), sizeOf[V]()).bytes()
}

// sortOrder holds the bits that make the unsigned order of keys the right one: see radix.Key.
type sortOrder struct{ negative, all uint64 }

func orderOf[K Scalar](descending bool) sortOrder {
	var o sortOrder
	every := ^uint64(0) >> (64 - 8*sizeOf[K]())
	top := every ^ every>>1
	switch typeOf[K]() {
	case typeI32, typeI64:
		o = sortOrder{0, top}
	case typeF32, typeF64:
		o = sortOrder{every ^ top, top}
	}
	if descending {
		o.all ^= every
	}
	return o
}

// sortSizes holds the sizes of the parts of a workspace in bytes.
type sortSizes struct {
	tiles, passes              uint64
	head, states, keys, values uint64
}

func radixParts(n uint64, key, value uintptr) sortSizes {
	s := sortSizes{passes: 8 * uint64(key) / radix.Bits, head: 4 * radix.HeadWords, keys: n * uint64(key), values: n * uint64(value)}
	tile := uint64(radix.Tile32)
	if key == 8 {
		tile = radix.Tile64
	}
	s.tiles = max((n+tile-1)/tile, 1)
	s.states = 4 * radix.Digits * s.tiles
	return s
}

// The head and the first states are adjacent, so that one launch clears both.
func (s sortSizes) bytes() int { return scratchSize(s.head+s.states, s.states, s.keys, s.values) }

type sorting struct {
	name     string
	dst, src operand
	values   [2]operand // dst and src
	pairs    bool
	bits     sortOrder
	ops      sequence
}

func (s *sorting) prepare(work *Workspace) ([]driver.Op, error) {
	if err := s.check(); err != nil {
		return nil, opError(s.name, err)
	}
	if err := s.launches(work); err != nil {
		return nil, opError(s.name, err)
	}
	return s.ops.ops, nil
}

func (s *sorting) check() error {
	if err := elementwiseOf(s.dst, s.src); err != nil {
		return err
	}
	if s.dst.n > radix.MostKeys {
		return invalid("%d keys are more than %d", s.dst.n, radix.MostKeys)
	}
	if !s.pairs {
		s.values = [2]operand{{none: true}, {none: true}}
		return nil
	}
	v, w := s.values[0], s.values[1]
	if err := elementwiseOf(v, w); err != nil {
		return err
	}
	if v.n != s.dst.n {
		return invalid("there are %d keys and %d values", s.dst.n, v.n)
	}
	if err := apart(s.dst, v, w); err != nil {
		return err
	}
	return apart(v, s.src)
}

func (s *sorting) launches(work *Workspace) error {
	sizes := radixParts(s.dst.n, s.dst.size, s.values[0].size)
	parts, err := work.scratch(sizes.bytes())
	if err != nil {
		return err
	}
	first := parts.next(sizes.head + sizes.states)
	head, a := first, first
	head.set(first.mem.View(0, int(sizes.head)))
	a.set(first.mem.View(int(sizes.head), int(sizes.head+sizes.states)))
	b, keys, values := parts.next(sizes.states), parts.next(sizes.keys), parts.next(sizes.values)
	c := s.dst.mem.Context()
	n, err := multiprocessors(c)
	if err != nil {
		return err
	}
	if err := s.ops.clear(first); err != nil {
		return err
	}
	size, negative, all := "b32", u32(uint32(s.bits.negative)), u32(uint32(s.bits.all))
	if s.dst.size == 8 {
		size, negative, all = "b64", u64(s.bits.negative), u64(s.bits.all)
	}
	// A thread counts at least 16 keys, if there are so many.
	blocks := max(min((s.dst.n+16*radix.CountThreads-1)/(16*radix.CountThreads), n*8), 1)
	cfg := driver.LaunchConfig{Grid: driver.D1(int(blocks)), Block: driver.D1(radix.CountThreads)}
	if err := s.ops.launch(radixSource, c, kernelName{"sort_count_", size}, &cfg, inOut(&head), in(&s.src), u64(s.src.n), negative, all); err != nil {
		return err
	}
	kernel, shared := kernelName{"sort_", size}, uint32(radix.Shared)
	switch {
	case s.dst.size == 4 && s.pairs:
		kernel[1], kernel[2] = "pairs_", size
	case s.dst.size == 4:
		shared = radix.SharedKeys32
	}
	cfg = driver.LaunchConfig{Grid: driver.D1(int(sizes.tiles)), Block: driver.D1(radix.Threads), SharedMem: shared}
	var valueSize uint32
	if s.pairs {
		valueSize = uint32(s.values[0].size)
	}
	// The passes write to the workspace and to dst in turn. Their number is even.
	from, to := &s.src, &keys
	fromValues, toValues := &s.values[1], &values
	for pass := range sizes.passes {
		dstValues, srcValues := arg{}, arg{}
		if s.pairs {
			dstValues, srcValues = out(toValues), in(fromValues)
		}
		if err := s.ops.launch(radixSource, c, kernel, &cfg,
			out(to), in(from), u64(s.dst.n), dstValues, srcValues, inOut(&head), inOut(&a), out(&b), negative, all, u32(uint32(pass)), u32(valueSize)); err != nil {
			return err
		}
		a, b = b, a
		if to == &keys {
			from, to, fromValues, toValues = &keys, &s.dst, &values, &s.values[0]
		} else {
			from, to, fromValues, toValues = &s.dst, &keys, &s.values[0], &values
		}
	}
	return nil
}
