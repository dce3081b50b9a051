package kernels

import (
	"github.com/purecuda/cuda/driver"
	tiles "github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/kernels/internal/transpose"
)

// Transpose returns the operation that transposes matrices. src contains the given number of
// batches, each a matrix of rows and columns without gaps. The operation writes each matrix to dst
// with its rows and columns exchanged. dst and src must not overlap.
//
// Arguments: 0 dst, 1 src, 2 batches, 3 rows, 4 columns (uint64). It reads src and writes
// dst.
func Transpose[T Element](dst, src driver.MemoryOf[T], batches, rows, columns int, again ...*driver.Launch) (*driver.Launch, error) {
	d, s := operandOf("dst", dst), operandOf("src", src)
	if err := matricesFit(d, s, batches, rows, columns); err != nil {
		return nil, opError("transpose", err)
	}
	b, r, c, side := uint64(batches), uint64(rows), uint64(columns), uint64(tiles.TileSide(int(d.size)))
	n := b * ((r + side - 1) / side) * ((c + side - 1) / side)
	m := maker{&transpose.Code, d.mem.Context(), kernelName{"transpose"}, reused(again)}
	cfg, err := m.grid(several, n*threads, 1)
	if err != nil {
		return nil, opError("transpose", err)
	}
	args := [...]arg{out(&d), in(&s), u64(b), u64(r), u64(c), constant(uint32(d.size))}
	key := m.variant(args[:])
	if d.size == 4 {
		key.Registers = transposeRegisters
	}
	l, err := m.prepareVariant(&key, &cfg, args[:])
	if err != nil {
		return nil, opError("transpose", err)
	}
	return l, nil
}

// transposeRegisters is the number of registers of a thread for elements of 4 bytes. With so many, all of its loads are on
// their way at once. For elements of 2 bytes, more threads with fewer registers are faster.
const transposeRegisters = 64

func matricesFit(dst, src operand, batches, rows, columns int) error {
	if err := sameLength(dst, src); err != nil {
		return err
	}
	n, ok := product(batches, rows, columns)
	if !ok || n != src.n {
		return invalid("%d × %d × %d elements, but src has %d", batches, rows, columns, src.n)
	}
	return apart(dst, src)
}
