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
// Arguments: 0 y, 1 a, 2 x, 3 rows, 4 columns, 5 pitch (all uint64), and five more, which must not be
// changed. It reads a and x, and writes y.
func Gemv[A, X NetFloat](y driver.MemoryOf[X], a Matrix[A], x driver.MemoryOf[X], again ...*driver.Launch) (*driver.Launch, error) {
	l, err := gemvOf(y, a, x, operand{none: true}, 0, 0, reused(again))
	if err != nil {
		return nil, opError("GEMV", err)
	}
	return l, nil
}

// GemvRMSNorm is like Gemv for the [RMSNorm] of x. It returns the operation that computes
// y = a · (x / sqrt(mean(x²) + eps) · weight) with one kernel, as the first step of a layer of a language
// model needs. weight has one element per column, and nil means ones. The normalized vector is not
// rounded to X.
//
// The bound of the error is that of Gemv for a and the normalized vector, plus 2e-6 times the absolute
// value of the element.
//
// Arguments: 0 to 5 as with Gemv, 7 weight, 8 eps (float32). Do not change the others. It reads a, x and
// weight, and writes y.
func GemvRMSNorm[A, X NetFloat](y driver.MemoryOf[X], a Matrix[A], x, weight driver.MemoryOf[X], eps float32, again ...*driver.Launch) (*driver.Launch, error) {
	l, err := gemvOf(y, a, x, perColumn("weight", weight, a.Cols), eps, 1, reused(again))
	if err != nil {
		return nil, opError("GEMV of RMS norm", err)
	}
	return l, nil
}

// gemvOf returns the operation of Gemv or, if normed is 1, of GemvRMSNorm.
func gemvOf[A, X NetFloat](y driver.MemoryOf[X], a Matrix[A], x driver.MemoryOf[X], weight operand, eps float32, normed uint32, again *driver.Launch) (*driver.Launch, error) {
	matrix, vector := typeName[A](), typeName[X]()
	if matrix != vector && vector != "f32" {
		return nil, invalid("a matrix of %s takes vectors of %s or f32, not of %s", matrix, matrix, vector)
	}
	of, from, to := a.operand("a"), perColumn("x", x, a.Cols), results(y)
	to.name = "y"
	if err := gemvOperands(&to, &of, from, weight); err != nil {
		return nil, err
	}
	cfg, err := gemvConfig(&of)
	if err != nil {
		return nil, err
	}
	m := maker{&gemv.Code, of.mem.Context(), kernelName{"gemv"}, again}
	return m.prepare(&cfg, out(&to.operand), in(&of.operand), in(&from), u64(uint64(of.rows)), u64(uint64(of.cols)), u64(uint64(of.pitch)), constant(uint32(floatKind[A]())),
		optional(&weight), f32(eps), constant(normed), constant(uint32(floatKind[X]())))
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

func gemvOperands(y, a *box, x, weight operand) error {
	if x.none {
		x.err = invalid("x is nil")
	}
	if err := usable(y.operand, a.operand, x, weight); err != nil {
		return err
	}
	if y.n != uint64(a.rows) {
		return invalid("y has %d elements, but a has %d rows", y.n, a.rows)
	}
	if y.access().Overlaps(a.access()) || y.access().Overlaps(wholeOf(x)) {
		return invalid("y overlaps a or x")
	}
	if !weight.none && y.access().Overlaps(wholeOf(weight)) {
		return invalid("y overlaps weight")
	}
	return nil
}
