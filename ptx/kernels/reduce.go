package kernels

import (
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/extreme"
	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
	"github.com/purecuda/cuda/ptx/kernels/internal/sum"
)

// Accumulator lists the types in which Sum computes.
type Accumulator interface {
	float32 | float64 | int64 | uint64
}

// sums lists the supported pairs of element type and accumulator.
var sums = []string{
	"sum_f32_f32", "sum_f16_f32", "sum_bf16_f32", "sum_f64_f64", "sum_f32_f64",
	"sum_i32_i64", "sum_i64_i64", "sum_u32_u64", "sum_u64_u64",
}

// Sum returns the operation that adds all elements of src and writes the sum to dst,
// which must have one element. The sum is computed in the type of dst. A float32 dst
// accepts elements of float32, F16 and BF16, and a float64 dst accepts float64 and
// float32. An int64 dst accepts int32 and int64, and a uint64 dst accepts uint32 and
// uint64. For an empty src, the sum is 0. Integers wrap around.
//
// The order of the additions depends only on the shape and the device, so the same input
// always gives the same sum. Its error is at most (n/t+30)·u times the sum of the
// absolute values. Here u is 6e-8 for float32 and 1.1e-16 for float64, n is the number of
// 16-byte packs of elements, and t is the number of threads. With a workspace and enough
// work, t is 1,024 per multiprocessor. Otherwise t is up to 512 per row. With many rows
// it is about one for each 4 to 16 packs, from 2 to 256. In practice the error is much
// smaller.
//
// work may be nil: see [Workspace]. Arguments: 0 dst, 1 src, 2 rows (uint64, 1 here), 3 columns
// (uint64), 4 pitch (uint64), 5 parts (uint32), 6 the workspace, and one or two more. Do not change arguments from
// 5 on. The number of rows (argument 2) may be reduced.
func Sum[S Accumulator, T Element](dst driver.MemoryOf[S], src driver.MemoryOf[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	return SumRows(dst, oneRow(src), work, again...)
}

// SumRows is like Sum, but works on each row of a matrix. dst must have one element per row.
func SumRows[S Accumulator, T Element](dst driver.MemoryOf[S], src Matrix[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	pair := kernelName{"sum_", typeName[T](), "_", typeName[S]()}
	if !slices.ContainsFunc(sums, pair.is) {
		return nil, opError("sum", invalid("there is no sum of %s in %s; these exist (sum_elements_sum): %v", typeName[T](), typeName[S](), sums))
	}
	name := kernelName{"sum_", bitsName[T]()}
	var of uint32
	switch typeOf[T]() {
	case typeBF16:
		of = uint32(rows.BF16)
	case typeU32, typeU64:
		of = rows.Unsigned
	case typeF32, typeF64:
		of = rows.Floats // and rows.F32
	}
	if sizeOf[S]() == 4 {
		name = kernelName{"sum_f32"}
	}
	r := reduction{&sum.Code, "sum", name, nil, results(dst), src.operand("src"), work, ahead, false, reused(again)}
	return r.prepare(constant(of))
}

func oneRow[T Element](m driver.MemoryOf[T]) Matrix[T] {
	return MatrixOf(m, 1, lengthOf(m))
}

// lengthOf returns the number of elements, or 0 for memory that operandOf rejects.
func lengthOf[T any](m driver.MemoryOf[T]) int {
	if m == nil {
		return 0
	}
	v, err := driver.ViewAs[byte](m)
	if err != nil {
		return 0
	}
	return int(v.Bytes() / sizeOf[T]())
}

// results returns the destination of a reduction, with one element per row, as a box.
func results[T any](m driver.MemoryOf[T]) box {
	n := lengthOf(m)
	return boxOf("dst", m, shape{layers: 1, rows: 1, cols: n, pitch: n})
}

// Ordered lists the types whose values can be compared by size.
type Ordered interface {
	float32 | F16 | BF16 | float64 | int32 | int64
}

// Max returns the operation that writes the largest element of src to dst, which has one
// element. If any element is NaN, the result is NaN, with unspecified bits. For an empty
// src, the result is the smallest value of the type (-Inf for floats). The result is
// exact.
//
// Max has the arguments and the workspace of [Sum].
func Max[T Ordered](dst, src driver.MemoryOf[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	return MaxRows(dst, oneRow(src), work, again...)
}

// MaxRows is like Max, but works on each row of a matrix. dst must have one element per row.
func MaxRows[T Ordered](dst driver.MemoryOf[T], src Matrix[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	r := reduction{&extreme.Code, "max", orderedName[T]("extreme_"), newerExtreme[T](), results(dst), src.operand("src"), work, ahead, true, reused(again)}
	return r.prepare(halfOf[T](), orderOfElements[T](0))
}

// Min is like Max, but finds the smallest element. For an empty src, the result is the
// largest value of the type.
func Min[T Ordered](dst, src driver.MemoryOf[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	return MinRows(dst, oneRow(src), work, again...)
}

// MinRows is like Min, but works on each row of a matrix. dst must have one element per row.
func MinRows[T Ordered](dst driver.MemoryOf[T], src Matrix[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	r := reduction{&extreme.Code, "min", orderedName[T]("extreme_"), newerExtreme[T](), results(dst), src.operand("src"), work, ahead, true, reused(again)}
	return r.prepare(halfOf[T](), orderOfElements[T](rows.OfSmallest))
}

// Argmax returns the operation that writes the index of the largest element of src to
// dst, which must have one element. Among equal elements, the first is selected. If src
// contains NaN, the first NaN is selected. For an empty src the index is -1.
//
// Argmax has the arguments and the workspace of [Sum].
func Argmax[T Ordered](dst driver.MemoryOf[int64], src driver.MemoryOf[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	return ArgmaxRows(dst, oneRow(src), work, again...)
}

// ArgmaxRows is like Argmax, but works on each row of a matrix. dst must have one element
// per row. Each index is a column number.
func ArgmaxRows[T Ordered](dst driver.MemoryOf[int64], src Matrix[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	r := reduction{&extreme.Code, "argmax", orderedName[T]("extreme_"), newerExtreme[T](), results(dst), src.operand("src"), work, 2 * ahead, true, reused(again)}
	return r.prepare(halfOf[T](), orderOfElements[T](rows.OfIndex))
}

// orderedName returns the name of a kernel that compares elements, with the type of their keys.
func orderedName[T Ordered](op string) kernelName {
	if sizeOf[T]() == 8 {
		return kernelName{op, "b64"}
	}
	return kernelName{op, "b32"}
}

// newerExtreme returns the kernel for floats of 16 and 32 bits on newer devices. There is none for others.
func newerExtreme[T Ordered]() *newer {
	if isFloat[T]() && sizeOf[T]() <= 4 {
		return extremeSm80
	}
	return nil
}

// orderOfElements returns the argument that tells what is found, and how elements are compared.
func orderOfElements[T Ordered](of uint32) arg {
	switch t := typeOf[T](); {
	case sizeOf[T]() == 2:
		of |= rows.OfHalves
	case t == typeF32 || t == typeF64:
		of |= rows.OfFloats
	}
	return constant(of)
}

// reduction is a launch of a reduction, with checked operands.
type reduction struct {
	source   source
	op       string // name of the operation, for messages
	kernel   kernelName
	newer    *newer // or nil
	dst, src box
	work     *Workspace
	atOnce   uint64 // number of packs that each thread processes at least
	limited  bool   // whether long rows need fewer threads than the registers allow
	again    *driver.Launch
}

// ahead is the number of packs that a reduction thread loads at a time. If there are enough rows to
// fill the device, each thread loads as many of a short row at once: all of its loads are then in
// flight together, and the loads of a warp touch consecutive memory. For argmax, which takes longer to
// combine the results of threads, each thread processes twice as many packs of a row.
const ahead = 4

func (r *reduction) prepare(more ...arg) (*driver.Launch, error) {
	if err := r.check(); err != nil {
		return nil, opError(r.op, err)
	}
	c, each := r.dst.mem.Context(), ahead*pack(r.src.size)
	d, err := deviceOf(c)
	if err != nil {
		return nil, opError(r.op, err)
	}
	threads, parts := r.divide(d.multiprocessors, each)
	cfg := deal(uint64(r.src.rows)*parts, threads)
	if threads <= warp {
		cfg = inTurns(cfg, d.multiprocessors*turnsOf)
	}
	if r.limited && parts == 1 && r.src.cols*int(r.src.size) >= longExtremes {
		cfg.SharedMem = d.sharedOfFewer(cfg.Block.X * cfg.Block.Y)
	}
	work := r.work.operand()
	if work.err != nil {
		return nil, opError(r.op, work.err)
	}
	shared := arg{}
	if !work.none {
		shared = inOut(&work)
	}
	code, kernel, err := r.newer.orOlder(r.source, c, r.kernel)
	if err != nil {
		return nil, opError(r.op, err)
	}
	m := maker{code, c, kernel, r.again}
	count := u32(uint32(parts))
	if parts == 1 {
		count = constant(1)
	}
	args := [9]arg{
		out(&r.dst.operand), in(&r.src.operand), u64(uint64(r.src.rows)), u64(uint64(r.src.cols)), u64(uint64(r.src.pitch)),
		count, shared,
	}
	n := 7 + copy(args[7:], more)
	l, err := m.prepare(&cfg, args[:n]...)
	if err != nil {
		return nil, opError(r.op, err)
	}
	return l, nil
}

// Devices of sm_90 read rows of longExtremes bytes and more in a better order if at most fewerThreads threads of a
// multiprocessor are resident. For shorter rows, more threads are faster.
const (
	longExtremes = 256
	fewerThreads = 1024
)

// sharedOfFewer returns the bytes of unused shared memory with which a multiprocessor has no more than fewerThreads threads
// in blocks of a number of threads. Blocks of 512 threads need none, because registers limit them.
func (d *device) sharedOfFewer(threads uint32) uint32 {
	if d.major < 9 || threads >= fewerThreads/2 {
		return 0
	}
	const reserved, unit = 1024, 256 // for each block, and the granularity
	all := uint32(d.sharedMemory) + reserved
	return (all/(fewerThreads/threads+1)/unit+1)*unit - reserved
}

// check returns an error in these cases: an operand is invalid, dst does not have one element for
// each row, or dst overlaps src.
func (r *reduction) check() error {
	if err := usable(r.dst.operand, r.src.operand); err != nil {
		return err
	}
	if r.dst.n != uint64(r.src.rows) {
		return invalid("dst has %d elements, but there are %d results; take a View of the intended part", r.dst.n, r.src.rows)
	}
	if r.dst.access().Overlaps(r.src.access()) {
		return invalid("dst and src overlap")
	}
	return nil
}

// divide returns the number of threads in a team and the number of parts of a row. If the rows are
// long, but there are too few of them to keep the device busy, each row is divided into several
// parts. A team has two threads or more, because the first two have the ends of a row.
func (r *reduction) divide(multiprocessors, each uint64) (threads int, parts uint64) {
	rows, cols := uint64(r.src.rows), uint64(r.src.cols)
	if r.work != nil && 0 < rows && rows <= workRows {
		parts = min(min(multiprocessors*blocksEach, workParts)/rows, cols/(each*fullBlock))
	}
	if parts >= 2 {
		return fullBlock, parts
	}
	// In rows that do not consist of whole packs, some threads have one pack more. A team of twice the
	// size would spend more on each row than a second turn costs.
	if n := (cols*uint64(r.src.size) + 15) / 16; rows >= multiprocessors*manyRows && n <= warp*ahead*4 {
		each := r.atOnce
		if each > ahead && r.src.size == 2 && n >= 16*ahead {
			each *= 2 // each element takes little time, and a combination as much as many of them
		}
		return max(team(n, each, warp), 2), 1
	}
	threads = max(teamFor(multiprocessors, rows, cols, r.atOnce*pack(r.src.size)), 2)
	if r.atOnce > ahead && rows >= multiprocessors*blocksEach {
		threads = min(threads, fullBlock)
	}
	return threads, 1
}
