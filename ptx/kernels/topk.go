package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/topk"
)

var topkSource = &topk.Code

// TopK returns the operations that find the k largest elements of each row of src, or the k smallest.
// k is the number of columns of values and of index, at most 1,024, and src has at least as many. Row
// r of values receives the elements in order, the largest or smallest first, and row r of index their
// columns in src. Equal elements are in the order of their columns, so the result is always the same.
//
// Floating-point numbers have the order of [Sort]. A NaN without a sign bit is therefore the largest
// element.
//
// work may be nil. With a workspace of at least TopKWorkspace(rows, k) bytes, all multiprocessors search
// if there are few rows.
//
// The operations are one or two launches that must run in order. Do not change their arguments: create
// the operations again.
func TopK[T float32 | F16 | BF16 | int32 | uint32](values Matrix[T], index Matrix[int64], src Matrix[T], largest bool, work *Workspace, again ...driver.Op) ([]driver.Op, error) {
	s := topKSearch{values: values.operand("values"), index: index.operand("index"), src: src.operand("src"), largest: largest, ops: sequenceOf(again)}
	s.float, s.signed = isFloat[T](), typeOf[T]() == typeI32
	if err := s.check(); err != nil {
		return nil, opError("top k", err)
	}
	if err := s.launches(work); err != nil {
		return nil, opError("top k", err)
	}
	return s.ops.ops, nil
}

// mostParts is the number of parts into which all rows together are divided, except if there are more
// rows. It allows four blocks on each multiprocessor of the largest devices.
const mostParts = 1024

// TopKWorkspace returns the size in bytes of a workspace for [TopK].
func TopKWorkspace(rows, k int) int { return scratchSize(8 * mostParts * uint64(k)) }

type topKSearch struct {
	values, index, src     box
	largest, float, signed bool
	ops                    sequence
}

func (s *topKSearch) check() error {
	if err := usable(s.values.operand, s.index.operand, s.src.operand); err != nil {
		return err
	}
	rows, k := s.src.rows, s.values.cols
	switch {
	case s.values.rows != rows || s.index.rows != rows || s.index.cols != k:
		return invalid("values is %v, index is %v and src is %v: they need the same rows, and values and index the same columns", s.values.shape, s.index.shape, s.src.shape)
	case k > topk.MostK || k > s.src.cols:
		return invalid("%d elements of a row, of which src has %d; at most %d are possible", k, s.src.cols, topk.MostK)
	case uint64(s.src.cols) >= 1<<32-1:
		return invalid("src has %d columns", s.src.cols)
	}
	for _, dst := range []*box{&s.values, &s.index} {
		if dst.access().Overlaps(s.src.access()) {
			return invalid("%s and src overlap", dst.name)
		}
	}
	if s.values.access().Overlaps(s.index.access()) {
		return invalid("values and index overlap")
	}
	return nil
}

func (s *topKSearch) launches(work *Workspace) error {
	c := s.values.mem.Context()
	n, err := multiprocessors(c)
	if err != nil {
		return err
	}
	k, rows, cols := uint64(s.values.cols), uint64(s.src.rows), uint64(s.src.cols)
	found := operand{none: true}
	parts := uint64(1)
	if work != nil && rows > 0 {
		// A part is long enough that most of its elements are compared with a bound only.
		parts = max(min(min(4*n, mostParts)/rows, cols/(16*uint64(topk.Limit(int(k))))), 1)
	}
	length := (cols + parts - 1) / parts
	length = (length + 15) / 16 * 16 // parts begin at multiples of 16 bytes
	memory := arg{}
	if parts > 1 {
		scratch, err := work.scratch(TopKWorkspace(int(rows), int(k)))
		if err != nil {
			return err
		}
		found = scratch.next(8 * rows * parts * k)
		if err := apart(found, s.values.operand, s.index.operand, s.src.operand); err != nil {
			return err
		}
		memory = out(&found)
	}
	negative, all := uint32(0), uint32(0)
	switch {
	case s.float:
		negative, all = 1<<31-1, 1<<31
	case s.signed:
		all = 1 << 31
	}
	if !s.largest {
		all ^= 1<<32 - 1
	}
	flags := uint32(0)
	if s.src.addr%16 == 0 && (rows <= 1 || uint64(s.src.pitch)*uint64(s.src.size)%16 == 0) {
		flags = topk.Wide
	}
	if s.src.size == 2 {
		flags |= topk.Half
	}
	blocks := rows * parts
	if k == 0 {
		blocks = 0
	}
	if blocks > 1<<31-1 {
		return invalid("src has %d rows", rows)
	}
	cfg := driver.LaunchConfig{Grid: driver.D1(int(max(blocks, 1))), Block: driver.D1(topk.Threads)}
	if blocks == 0 { // a launch has at least one block
		k, cols = 0, 0
	}
	if err := s.ops.launch(topkSource, c, kernelName{"topk"}, &cfg,
		out(&s.values.operand), out(&s.index.operand), in(&s.src.operand), u64(cols), u64(uint64(s.src.pitch)), u64(k), u64(uint64(s.values.pitch)), u64(uint64(s.index.pitch)),
		memory, u64(length), u32(uint32(parts)), u32(negative), u32(all), u32(flags)); err != nil {
		return err
	}
	if parts == 1 {
		return nil
	}
	cfg.Grid = driver.D1(int(rows))
	return s.ops.launch(topkSource, c, kernelName{"topk"}, &cfg,
		out(&s.values.operand), out(&s.index.operand), arg{}, u64(parts*k), u64(0), u64(k), u64(uint64(s.values.pitch)), u64(uint64(s.index.pitch)),
		in(&found), u64(parts*k), u32(1), u32(negative), u32(all), u32(flags|topk.Merge))
}
