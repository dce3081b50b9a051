package kernels

import (
	"math"
	"math/bits"

	"github.com/purecuda/cuda/driver"
	elements "github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/kernels/internal/quantized"
	"github.com/purecuda/cuda/ptx/kernels/internal/quantizedsm80"
)

var quantizedSource = &quantized.Code

// quantizedSm80 uses tensor cores.
var quantizedSm80 = &newer{&quantizedsm80.Code, 8, 0, "_sm80", []string{"gemv_i4"}}

// Quantized is a matrix of small integers with scales, as language models use for weights. Each row is
// divided into groups of columns. An element is an integer times the scale of its group.
//
// With 8 bits, an integer is signed, from -128 to 127. With 4 bits, it is the number minus 8. The low
// half of a byte is an even column, and the high half the column after it. Rows follow each other
// without gaps.
type Quantized[T NetFloat] struct {
	Mem        driver.MemoryOf[uint8] // begins at a multiple of 16 bytes, as every buffer does
	Scales     driver.MemoryOf[T]     // a row of scales for each row
	Rows, Cols int                    // Cols is a multiple of 32
	Bits       int                    // 4 or 8
	Group      int                    // columns of a group, a multiple of 32 that divides Cols; 0 means Cols
}

// GemvQuantized returns the operation that computes y = a·x. y has one element for each row of a, and x
// one for each column. y must not overlap the other operands.
//
// The products of 32 columns are added before they are multiplied by the scale. The sums are computed
// in float32, in an order that depends only on the shape and the device.
//
// From compute capability 8.0 on, tensor cores multiply integers of 4 bits by F16 or BF16, if Cols and Group are
// multiples of 128 and x begins at a multiple of 16 bytes. They add the products of 128 columns before those are
// multiplied by the scale.
//
// Arguments: 0 y, 1 the integers, 2 the scales, 3 x, and eight more, which must not be changed. Other integers begin at a
// multiple of 16 bytes, too, and so does another x if the first one does. It reads all but y, which it writes.
func GemvQuantized[T NetFloat](y driver.MemoryOf[T], a Quantized[T], x driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	l, err := gemvQuantized(y, a, x, operand{none: true}, 0, 0, reused(again))
	if err != nil {
		return nil, opError("gemv quantized", err)
	}
	return l, nil
}

// GemvQuantizedRMSNorm is like GemvQuantized for the [RMSNorm] of x. It returns the operation that
// computes y = a · (x / sqrt(mean(x²) + eps) · weight) with one kernel. weight has one element per column,
// and nil means ones. The normalized vector is not rounded to T.
//
// Arguments: 0 to 3 as with GemvQuantized, 8 weight, 9 eps (float32). Do not change the others. It reads
// all but y, which it writes.
func GemvQuantizedRMSNorm[T NetFloat](y driver.MemoryOf[T], a Quantized[T], x, weight driver.MemoryOf[T], eps float32, again ...*driver.Launch) (*driver.Launch, error) {
	l, err := gemvQuantized(y, a, x, perColumn("weight", weight, a.Cols), eps, 1, reused(again))
	if err != nil {
		return nil, opError("gemv quantized of RMS norm", err)
	}
	return l, nil
}

// gemvQuantized returns the operation of GemvQuantized or, if normed is 1, of GemvQuantizedRMSNorm.
func gemvQuantized[T NetFloat](y driver.MemoryOf[T], a Quantized[T], x driver.MemoryOf[T], weight operand, eps float32, normed uint32, again *driver.Launch) (*driver.Launch, error) {
	q := quantizedProduct{
		operandOf("y", y), operandOf("a.Mem", a.Mem), operandOf("a.Scales", a.Scales), operandOf("x", x), weight,
		a.Rows, a.Cols, a.Bits, a.Group, eps, normed,
	}
	_, kind := floatClass[T]()
	return q.prepare(kind, again)
}

type quantizedProduct struct {
	y, a, scales, x, weight operand
	rows, cols, bits, group int
	eps                     float32
	normed                  uint32
}

// check checks the operands, and replaces a group of 0.
func (s *quantizedProduct) check() error {
	y, a, scales, x := &s.y, &s.a, &s.scales, &s.x
	if err := usable(*y, *a, *scales, *x, s.weight); err != nil {
		return err
	}
	if s.group == 0 {
		s.group = s.cols
	}
	switch {
	case s.bits != 4 && s.bits != 8:
		return invalid("integers of %d bits; possible are 4 and 8", s.bits)
	case s.rows < 0 || s.cols < 0 || s.rows > math.MaxInt32 || s.cols > math.MaxInt32:
		return invalid("a has %d rows and %d columns", s.rows, s.cols)
	case s.cols%quantized.Chunk != 0:
		return invalid("a has %d columns, which is not a multiple of %d", s.cols, quantized.Chunk)
	case s.cols > 0 && (s.group <= 0 || s.group%quantized.Chunk != 0 || s.cols%s.group != 0):
		return invalid("groups of %d columns; a group is a multiple of %d that divides the %d columns", s.group, quantized.Chunk, s.cols)
	case a.addr%16 != 0:
		return invalid("a.Mem begins at %#x, which is not a multiple of 16 bytes", a.addr)
	case y.n != uint64(s.rows) || x.n != uint64(s.cols):
		return invalid("y has %d elements and x %d, but a has %d rows and %d columns", y.n, x.n, s.rows, s.cols)
	}
	groups := uint64(0)
	if s.cols > 0 {
		groups = uint64(s.cols / s.group)
	}
	if need := uint64(s.rows) * uint64(s.cols) / 8 * uint64(s.bits); a.n < need {
		return invalid("a.Mem has %d bytes, but %d are needed", a.n, need)
	}
	if need := uint64(s.rows) * groups; scales.n < need {
		return invalid("a.Scales has %d elements, but %d are needed", scales.n, need)
	}
	return apart(*y, *a, *scales, *x, s.weight)
}

// suitsTensorCores reports whether the product of integers of 4 bits can use tensor cores.
func (s *quantizedProduct) suitsTensorCores(kind elements.Kind) bool {
	return kind != elements.F32 && s.rows > 0 && s.cols > 0 && s.cols%quantizedsm80.Span == 0 && s.group%quantizedsm80.Span == 0 && s.x.addr%16 == 0 && s.normed == 0
}

func (s *quantizedProduct) prepare(kind elements.Kind, again *driver.Launch) (*driver.Launch, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	d, err := deviceOf(s.y.mem.Context())
	if err != nil {
		return nil, err
	}
	n := d.multiprocessors
	// Warps share rows if otherwise there are few of them, and if each still has columns.
	split := min(max(16*n*quantized.Rows/max(uint64(s.rows), 1), 1), max(uint64(s.cols)/quantized.Span, 1), quantized.Warps)
	log := bits.Len64(split) - 1
	each := uint64(quantized.Warps*quantized.Rows) >> log
	cfg := driver.LaunchConfig{Grid: driver.D1(int(max((uint64(s.rows)+each-1)/each, 1))), Block: driver.D1(quantized.Threads)}
	cols := s.cols
	if s.rows == 0 { // the launch has one block, which must not read
		cols = 0
	}
	m := maker{quantizedSource, s.y.mem.Context(), kernelName{"gemv_i4"}, again}
	normed, element := constant(s.normed), constant(uint32(kind))
	switch {
	case s.bits == 8:
		m.kernel[0] = "gemv_i8"
		// This kernel serves all types. If it is compiled for one, it takes 10 % longer on an H200, because ptxas orders the
		// loads in another way.
		normed, element = u32(s.normed), u32(uint32(kind))
	case s.suitsTensorCores(kind):
		if m.source, m.kernel, err = quantizedSm80.orOlder(m.source, m.context, m.kernel); err != nil {
			return nil, err
		}
		if m.source == quantizedSm80.source {
			normed = u32(s.normed) // it is 0, and the kernel does not use it
			blocks := (s.rows + quantizedsm80.Rows - 1) / quantizedsm80.Rows
			// A multiprocessor gets at most Resident warps. Blocks of 4 are faster, unless there are too few blocks for Resident
			// warps. More than 4 all need columns. A block goes on with other rows, without a pause of its copies.
			warps := 4
			for warps < quantizedsm80.MostWarps && 2*warps*blocks <= quantizedsm80.Resident*int(n) && 4*warps*quantizedsm80.Span <= s.cols {
				warps *= 2
			}
			blocks = min(blocks, int(n)*quantizedsm80.Resident/warps)
			cfg = driver.LaunchConfig{Grid: driver.D1(blocks), Block: driver.D1(warps * warp), SharedMem: uint32(warps * quantizedsm80.Shared)}
		}
	}
	return m.prepare(&cfg, out(&s.y), in(&s.a), in(&s.scales), in(&s.x), u32(uint32(s.rows)), u32(uint32(cols)), u32(uint32(max(s.group/quantized.Chunk, 1))), u32(uint32(log)),
		optional(&s.weight), f32(s.eps), normed, element)
}
