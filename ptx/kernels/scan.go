package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/scan"
)

var scanSource = &scan.Code

// Scalar lists the 32-bit and 64-bit element types.
type Scalar interface {
	uint32 | int32 | uint64 | int64 | float32 | float64
}

// InclusiveSum returns the operations that set each element of dst to the sum of the elements of src
// up to the same index. Integers wrap around. dst and src have the same length, and may be equal.
// work has at least ScanWorkspace[T](n) bytes for n elements.
//
// The sums are computed in the type T. The order of the additions depends only on the length, so the
// same input always gives the same sums.
//
// The second operation reads src and writes dst, once. Its arguments are 0 dst, 1 src, 2 the number of
// elements (uint64), 3 the workspace, and three more, which must not be changed.
func InclusiveSum[T Scalar](dst, src driver.MemoryOf[T], work *Workspace, again ...driver.Op) ([]driver.Op, error) {
	return prefixSums("inclusive sum", dst, src, 0, work, again)
}

// ExclusiveSum is like InclusiveSum, but an element of src is not part of the sum with its own index.
// The first sum is 0.
func ExclusiveSum[T Scalar](dst, src driver.MemoryOf[T], work *Workspace, again ...driver.Op) ([]driver.Op, error) {
	return prefixSums("exclusive sum", dst, src, 1, work, again)
}

// ScanWorkspace returns the size in bytes of a workspace for prefix sums of n elements.
func ScanWorkspace[T Scalar](n int) int {
	return scratchSize(8 * scan.Words(uint64(n), uint64(sizeOf[T]())))
}

func prefixSums[T Scalar](op string, dst, src driver.MemoryOf[T], exclusive uint32, work *Workspace, again []driver.Op) ([]driver.Op, error) {
	d, s := operandOf("dst", dst), operandOf("src", src)
	if err := elementwiseOf(d, s); err != nil {
		return nil, opError(op, err)
	}
	parts, err := work.scratch(ScanWorkspace[T](int(d.n)))
	if err != nil {
		return nil, opError(op, err)
	}
	states := parts.next(8 * scan.Words(d.n, uint64(d.size)))
	if err := apart(states, d, s); err != nil {
		return nil, opError(op, err)
	}
	ops := sequenceOf(again)
	if err := ops.clear(states); err != nil {
		return nil, opError(op, err)
	}
	var floats uint32
	if isFloat[T]() {
		floats = 1
	}
	cfg := driver.LaunchConfig{Grid: driver.D1(int(max((d.n+scan.Tile-1)/scan.Tile, 1))), Block: driver.D1(scan.Threads)}
	if err := ops.launch(scanSource, d.mem.Context(), kernelName{"scan_", bitsName[T]()}, &cfg,
		out(&d), in(&s), u64(d.n), inOut(&states), constant(exclusive), u32(wide(d, s)), constant(floats)); err != nil {
		return nil, opError(op, err)
	}
	return ops.ops, nil
}

// wide returns 1 if all operands begin at multiples of 16 bytes, and 0 otherwise.
func wide(operands ...operand) uint32 {
	for _, o := range operands {
		if o.addr%16 != 0 {
			return 0
		}
	}
	return 1
}
