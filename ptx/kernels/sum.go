package kernels

import (
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/launchers"
)

var sumSource = source(launchers.SumModule)

// Accumulator lists the types in which sums are computed.
type Accumulator interface {
	float32 | float64 | int64 | uint64
}

// sums lists the supported pairs of types: the element type and the accumulator.
var sums = []string{
	"sum_f32_f32", "sum_f16_f32", "sum_bf16_f32", "sum_f64_f64", "sum_f32_f64",
	"sum_i32_i64", "sum_i64_i64", "sum_u32_u64", "sum_u64_u64",
}

// Sum returns the operation that adds all elements of src and writes the sum to dst,
// which has one element. The sum is computed in the type of dst: float32 for float32,
// F16 and BF16; float64 for float64 and float32; int64 for int32 and int64; uint64 for
// uint32 and uint64. The sum of no elements is 0. Integers wrap around.
//
// The order of the additions depends only on the shape and the device, so the same
// input always gives the same sum. Its error is at most (n/t+30)·u times the sum of the
// absolute values. u is 6e-8 for float32 and 1.1e-16 for float64, n the number of
// 16-byte packs of elements, and t the number of threads. t is 1,024 for each
// multiprocessor if there is a workspace and much to do. Otherwise it is up to 512 for
// a row, or with many rows about one for each 16 packs, from 2 to 256. In practice the
// error is a small part of that.
//
// work may be nil; see [Workspace]. Arguments: 0 dst, 1 src, 2 rows (uint64, 1 here), 3
// columns (uint64), 4 pitch (uint64), 5 parts (uint32) and 6 the workspace. Do not
// change the last two. The number of rows may be reduced.
func Sum[S Accumulator, T Element](dst driver.MemoryOf[S], src driver.MemoryOf[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	return SumRows(dst, oneRow(src), work, again...)
}

// SumRows is Sum for each row of a matrix: dst has one element per row.
func SumRows[S Accumulator, T Element](dst driver.MemoryOf[S], src Matrix[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	name := kernelName{"sum_", typeName[T](), "_", typeName[S]()}
	if !slices.ContainsFunc(sums, name.is) {
		return nil, opError("sum", invalid("there is no sum of %s in %s; these exist (sum_elements_sum): %v", typeName[T](), typeName[S](), sums))
	}
	r := reduction{sumSource, "sum", name, results(dst), src.operand("src"), work, nil, reused(again)}
	return r.prepare()
}

// oneRow returns all of the memory as one row.
func oneRow[T Element](m driver.MemoryOf[T]) Matrix[T] {
	return MatrixOf(m, 1, lengthOf(m))
}

// lengthOf returns the number of elements, 0 for memory that operandOf refuses.
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

// results returns memory with one element per row.
func results[T any](m driver.MemoryOf[T]) box {
	n := lengthOf(m)
	return boxOf("dst", m, shape{layers: 1, rows: 1, cols: n, pitch: n})
}
