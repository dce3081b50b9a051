package kernels

import (
	"fmt"
	"math"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/rope"
)

// Heads describes memory as tokens that consist of heads. Head h of token t begins at
// element t*TokenPitch + h*HeadPitch and has Dim elements.
type Heads[T Element] struct {
	Mem                driver.MemoryOf[T]
	Tokens, Heads, Dim int
	TokenPitch         int // elements from one token to the next; 0 means Heads*HeadPitch
	HeadPitch          int // elements from one head to the next; 0 means Dim
}

func (h Heads[T]) operand(name string) box {
	s := shape{layers: h.Tokens, rows: h.Heads, cols: h.Dim, pitch: h.HeadPitch, layer: h.TokenPitch}
	if s.pitch == 0 {
		s.pitch = s.cols
	}
	if s.layer == 0 {
		s.layer = s.rows * s.pitch
	}
	return boxOf(name, h.Mem, s)
}

// Pairing selects the elements of a head that are rotated together.
type Pairing uint32

// The pairings. With n pairs, pair i consists of elements 2i and 2i+1, or of elements i
// and i+n.
const (
	Neighbours Pairing = iota
	Halves
)

// String returns the pairing's name.
func (p Pairing) String() string {
	switch p {
	case Neighbours:
		return "neighbours"
	case Halves:
		return "halves"
	}
	return fmt.Sprintf("Pairing(%d)", uint32(p))
}

// RopeFrequencies returns the standard frequencies for Rope: base^(-i/pairs) for pair i,
// in radians per position. The usual base is 10,000.
func RopeFrequencies(pairs int, base float64) []float32 {
	f := make([]float32, pairs)
	for i := range f {
		f[i] = float32(math.Pow(base, -float64(i)/float64(pairs)))
	}
	return f
}

// Rope returns the operation that rotates pairs of elements of each head. The angle is
// the token's position times the pair's frequency, and (x, y) becomes (x·cos-y·sin,
// x·sin+y·cos). There is one position per token and one frequency per pair. A head of Dim
// elements has at most Dim/2 pairs. Elements after the pairs are copied. dst and src must
// have the same extents. dst may be src.
//
// The error of an element is at most 4e-7 times the length of its pair before rounding to
// T, at any position.
//
// Arguments: 0 dst, 1 src, 2 positions, 3 frequencies, 4 tokens (uint64), 5 heads, 6 dim, 7 pairs
// (uint32), 8 token pitch of dst, 9 head pitch of dst, 10 token pitch of src, 11 head pitch of src
// (uint64), 12 pairing, 13 type of the elements (uint32). Do not change argument 13. It
// reads src, positions and frequencies, and writes dst.
func Rope[T NetFloat](dst, src Heads[T], positions driver.MemoryOf[int32], frequencies driver.MemoryOf[float32], pairing Pairing, again ...*driver.Launch) (*driver.Launch, error) {
	d, s := dst.operand("dst"), src.operand("src")
	p, f := operandOf("positions", positions), operandOf("frequencies", frequencies)
	if err := ropeOperands(d, s, p, f, pairing); err != nil {
		return nil, opError("rope", err)
	}
	const together = 4 // number of heads per thread, as in rope.go
	busy := uint64(d.layers) * uint64((d.rows+together-1)/together) * max(f.n, 1)
	m := maker{&rope.Code, d.mem.Context(), kernelName{"rope"}, reused(again)}
	l, err := m.elementwise(once, busy, 1,
		out(&d.operand), in(&s.operand), in(&p), in(&f),
		u64(uint64(d.layers)), u32(uint32(d.rows)), u32(uint32(d.cols)), u32(uint32(f.n)),
		u64(uint64(d.layer)), u64(uint64(d.pitch)), u64(uint64(s.layer)), u64(uint64(s.pitch)), u32(uint32(pairing)), constant(uint32(floatKind[T]())))
	if err != nil {
		return nil, opError("rope", err)
	}
	return l, nil
}

func ropeOperands(dst, src box, positions, frequencies operand, pairing Pairing) error {
	if err := usable(dst.operand, src.operand, positions, frequencies); err != nil {
		return err
	}
	switch {
	case pairing > Halves:
		return invalid("%v is not a pairing", pairing)
	case positions.n != uint64(dst.layers):
		return invalid("there are %d positions for %d tokens", positions.n, dst.layers)
	case frequencies.n > uint64(dst.cols)/2:
		return invalid("there are %d frequencies, but heads of %d elements have %d pairs", frequencies.n, dst.cols, dst.cols/2)
	case dst.rows > math.MaxInt32 || dst.cols > math.MaxInt32:
		return invalid("heads are too many or too large: %v", dst.shape)
	}
	if err := sameRows(dst, src); err != nil {
		return err
	}
	if dst.access().Overlaps(wholeOf(positions)) || dst.access().Overlaps(wholeOf(frequencies)) {
		return invalid("dst overlaps positions or frequencies")
	}
	return nil
}
