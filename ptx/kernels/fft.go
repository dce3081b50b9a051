package kernels

import (
	"math/bits"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/fft"
)

var fftSource = &fft.Code

// The smallest and the largest n of FFT.
const (
	leastFFT = 8
	mostFFT  = 1 << 20
)

// FFT returns the operations that transform each row of n complex numbers of src into the same row of
// dst: X[k] = scale·Σ x[j]·exp(∓2πi·j·k/n). The sign is + if inverse is true. The scale 1/n makes one
// transform the inverse of the other. n is a power of two from 8 to 2^20. dst and src have the same
// length, which is a multiple of n, and may be equal. They begin at multiples of 8 bytes, as every
// buffer does.
//
// Up to n = 4,096, there is one launch, which reads and writes each number once, and work may be nil.
// Beyond, there are two launches, and a workspace with at least FFTWorkspace(n, rows) bytes. Devices of
// compute capability 7.0 or later need only one launch and no workspace for n = 8,192, and those with 128 KiB of
// shared memory for a block, such as 8.0 and 9.0, for n = 16,384.
//
// The error of a result is a few times 1e-7 times the root of the mean square of the results of its row.
//
// Do not change the arguments of the operations: create them again.
func FFT(dst, src driver.MemoryOf[complex64], n int, inverse bool, scale float32, work *Workspace, again ...driver.Op) ([]driver.Op, error) {
	f := transform{dst: operandOf("dst", dst), src: operandOf("src", src), n: n, inverse: inverse, scale: scale, ops: sequenceOf(again)}
	if err := f.check(); err != nil {
		return nil, opError("fft", err)
	}
	if err := f.launches(work); err != nil {
		return nil, opError("fft", err)
	}
	return f.ops.ops, nil
}

// FFTWorkspace returns the size in bytes of a workspace for [FFT].
func FFTWorkspace(n, rows int) int {
	if n <= portableRow {
		return scratchSize()
	}
	return scratchSize(8 * uint64(n) * uint64(rows))
}

// portableRow is the length of the longest transform of one launch on devices with 48 KiB of shared
// memory for a block.
const portableRow = 4096

type transform struct {
	dst, src operand
	n        int
	inverse  bool
	scale    float32
	ops      sequence
}

func (f *transform) check() error {
	if err := elementwiseOf(f.dst, f.src); err != nil {
		return err
	}
	if f.n < leastFFT || f.n > mostFFT || bits.OnesCount(uint(f.n)) != 1 {
		return invalid("rows of %d numbers; possible are powers of two from %d to %d", f.n, leastFFT, mostFFT)
	}
	if f.dst.n%uint64(f.n) != 0 {
		return invalid("dst has %d numbers, which is not a whole number of rows of %d", f.dst.n, f.n)
	}
	return nil
}

func (f *transform) launches(work *Workspace) error {
	c, rows := f.dst.mem.Context(), f.dst.n/uint64(f.n)
	log := bits.TrailingZeros(uint(f.n))
	d, err := deviceOf(c)
	if err != nil {
		return err
	}
	if f.n <= fft.MostRow && uint64(8*f.n) <= max(d.sharedMemory, 8*portableRow) {
		// A block has at least 128 threads, so that a multiprocessor is busy with few blocks.
		threads := max(f.n/fft.Each, 128)
		each := uint64(threads * fft.Each / f.n)
		return f.launch(threads, (rows+each-1)/each, &f.dst, &f.src, log, 0, 0, fft.Rows)
	}
	parts, err := work.scratch(FFTWorkspace(f.n, int(rows)))
	if err != nil {
		return err
	}
	between := parts.next(8 * f.dst.n)
	if err := apart(between, f.dst, f.src); err != nil {
		return err
	}
	log1 := log / 2
	log2 := log - log1
	lanes := lanesOf(d, log1)
	if err := f.launch(1<<lanes<<log1/fft.Each, rows<<(log2-lanes), &between, &f.src, log1, log2, lanes, fft.Columns); err != nil {
		return err
	}
	lanes = lanesOf(d, log2)
	return f.launch(1<<lanes<<log2/fft.Each, rows<<(log1-lanes), &f.dst, &between, log2, log1, lanes, fft.Rest)
}

// launch adds a launch of transforms of 2^log numbers.
func (f *transform) launch(threads int, n uint64, dst, src *operand, log, other, lanes int, mode uint32) error {
	cfg := driver.LaunchConfig{Block: driver.D1(threads), SharedMem: uint32(threads * fft.Each * 8)}
	if err := blocks(&cfg, n); err != nil {
		return err
	}
	sign, re, im := float32(1), float32(1), float32(1)
	if f.inverse && mode != fft.Rest {
		sign = -1
	}
	if mode != fft.Columns {
		re, im = f.scale, f.scale
		if f.inverse {
			im = -im
		}
	}
	return f.ops.launch(fftSource, f.dst.mem.Context(), kernelName{"fft"}, &cfg,
		out(dst), in(src), u64(f.dst.n), u32(uint32(log)), u32(uint32(other)), u32(uint32(lanes)), u32(mode), f32(sign), f32(re), f32(im))
}

// lanesOf returns the number of transforms of a block, as a power of two. Devices before compute
// capability 7.0 have only 48 KiB of shared memory for a block.
func lanesOf(d *device, log int) int {
	if log == 10 && d.major < 7 {
		return 2
	}
	return 3
}

// blocks sets the number of blocks of a launch. A launch has at least one.
func blocks(cfg *driver.LaunchConfig, n uint64) error {
	if n > 1<<31-1 {
		return invalid("there are %d blocks, more than 2^31-1", n)
	}
	cfg.Grid = driver.D1(int(max(n, 1)))
	return nil
}
