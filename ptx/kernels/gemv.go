package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/gemv"
)

// Gemv returns the operation that multiplies a matrix by a vector: y[r] is the sum over c of
// a[r][c]·x[c]. The vectors have the element type of the matrix, or float32 for a matrix of F16 or
// BF16. For a matrix without columns, all results are zero.
//
// Sums are computed in float32, in an order that depends only on the shape. Before
// rounding to X, the error of an element is at most (cols/1024+20)·6e-8 times the sum of
// the absolute values of the products.
//
// Arguments: 0 y, 1 a, 2 x, 3 rows, 4 columns, 5 pitch (all uint64), 6 type of 16-bit elements
// (uint32). Do not change argument 6. It reads a and x, and writes y.
func Gemv[A, X NetFloat](y driver.MemoryOf[X], a Matrix[A], x driver.MemoryOf[X], again ...*driver.Launch) (*driver.Launch, error) {
	matrix, vector := typeName[A](), typeName[X]()
	if matrix != vector && vector != "f32" {
		return nil, opError("GEMV", invalid("a matrix of %s takes vectors of %s or f32, not of %s", matrix, matrix, vector))
	}
	of, from, to := a.operand("a"), perColumn("x", x, a.Cols), results(y)
	to.name = "y"
	if err := gemvOperands(&to, &of, from); err != nil {
		return nil, opError("GEMV", err)
	}
	cfg, err := gemvConfig(&of)
	if err != nil {
		return nil, opError("GEMV", err)
	}
	m := maker{gemv.Module, of.mem.Context(), kernelName{"gemv_", floatName[A](), "_", floatName[X]()}, reused(again)}
	l, err := m.prepare(&cfg, out(&to.operand), in(&of.operand), in(&from), u64(uint64(of.rows)), u64(uint64(of.cols)), u64(uint64(of.pitch)), halfOf[A]())
	if err != nil {
		return nil, opError("GEMV", err)
	}
	return l, nil
}

// gemvConfig returns a launch in which each team processes pairs of rows.
func gemvConfig(a *box) (driver.LaunchConfig, error) {
	pairs := (uint64(a.rows) + 1) / 2
	n, err := multiprocessors(a.mem.Context())
	if err != nil {
		return driver.LaunchConfig{}, err
	}
	threads := teamFor(n, pairs, uint64(a.cols), 2*pack(a.size))
	return deal(pairs, max(threads, warp)), nil
}

func gemvOperands(y, a *box, x operand) error {
	if x.none {
		x.err = invalid("x is nil")
	}
	if err := usable(y.operand, a.operand, x); err != nil {
		return err
	}
	if y.n != uint64(a.rows) {
		return invalid("y has %d elements, but a has %d rows", y.n, a.rows)
	}
	if y.access().Overlaps(a.access()) || y.access().Overlaps(wholeOf(x)) {
		return invalid("y overlaps a or x")
	}
	return nil
}
