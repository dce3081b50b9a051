package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/launchers"
)

var (
	extremeSource = source(launchers.ExtremeModule)
	argmaxSource  = source(launchers.ArgmaxModule)
)

// Ordered lists the types whose elements can be compared.
type Ordered interface {
	float32 | F16 | BF16 | float64 | int32 | int64
}

// Max returns the operation that writes the largest element of src to dst, which has
// one element. If any element is NaN, the result is NaN, with unspecified bits. The
// largest of no elements is the smallest value of the type, -Inf for floats. The result
// is exact.
//
// Arguments and work are those of [Sum].
func Max[T Ordered](dst, src driver.MemoryOf[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	return MaxRows(dst, oneRow(src), work, again...)
}

// MaxRows is Max for each row of a matrix: dst has one element per row.
func MaxRows[T Ordered](dst driver.MemoryOf[T], src Matrix[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	r := reduction{extremeSource, "max", kernelName{"max_rows_", typeName[T]()}, results(dst), src.operand("src"), work, nil, reused(again)}
	return r.prepare()
}

// Min is Max for the smallest element. For no elements it is the largest value of the
// type.
func Min[T Ordered](dst, src driver.MemoryOf[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	return MinRows(dst, oneRow(src), work, again...)
}

// MinRows is Min for each row of a matrix: dst has one element per row.
func MinRows[T Ordered](dst driver.MemoryOf[T], src Matrix[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	r := reduction{extremeSource, "min", kernelName{"min_rows_", typeName[T]()}, results(dst), src.operand("src"), work, nil, reused(again)}
	return r.prepare()
}

// Argmax returns the operation that writes the index of the largest element of src to
// dst, which has one element. Of equal elements the first counts. The first NaN counts
// as the largest. For no elements the index is -1.
//
// Arguments and work are those of [Sum].
func Argmax[T Ordered](dst driver.MemoryOf[int64], src driver.MemoryOf[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	return ArgmaxRows(dst, oneRow(src), work, again...)
}

// ArgmaxRows is Argmax for each row of a matrix: dst has one element per row, the
// column.
func ArgmaxRows[T Ordered](dst driver.MemoryOf[int64], src Matrix[T], work *Workspace, again ...*driver.Launch) (*driver.Launch, error) {
	r := reduction{argmaxSource, "argmax", kernelName{"argmax_", typeName[T]()}, results(dst), src.operand("src"), work, rowsSm80, reused(again)}
	return r.prepare()
}
