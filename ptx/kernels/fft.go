package kernels

import (
	"math/bits"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/fft"
)

var fftSource = source(fft.Module)

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
// compute capability 7.0 or later need only one launch and no workspace for n = 8,192.
//
// The error of a result is a few times 1e-7 times the root of the mean square of the results of its row.
//
// Do not change the arguments of the operations: create them again.
func FFT(dst, src driver.MemoryOf[complex64], n int, inverse bool, scale float32, work *Workspace, again ...driver.Op) ([]driver.Op, error) {
	f := transform{dst: operandOf("dst", dst), src: operandOf("src", src), n: n, scale: scale, ops: sequenceOf(again)}
	if inverse {
		f.inverse = 1
	}
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
	scale    float32
	inverse  uint32
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
	if f.n <= portableRow || f.n <= fft.MostRow && d.major >= 7 {
		// A block has at least 128 threads, so that a multiprocessor is busy with few blocks.
		threads := max(f.n/fft.Each, 128)
		each := uint64(threads * fft.Each / f.n)
		cfg := driver.LaunchConfig{Block: driver.D1(threads), SharedMem: uint32(threads * fft.Each * 8)}
		if err := blocks(&cfg, (rows+each-1)/each); err != nil {
			return err
		}
		return f.ops.launch(fftSource, c, kernelName{"fft_rows"}, &cfg,
			out(&f.dst), in(&f.src), u64(rows), u32(uint32(log)), f32(f.scale), u32(f.inverse))
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
	lanes := [2]int{lanesOf(d, log1), lanesOf(d, log2)}
	cfg := driver.LaunchConfig{Block: driver.D1(1 << (log1 + lanes[0] - 3)), SharedMem: 8 << (log1 + lanes[0])}
	if err := blocks(&cfg, rows<<(log2-lanes[0])); err != nil {
		return err
	}
	if err := f.ops.launch(fftSource, c, kernelName{"fft_parts"}, &cfg,
		out(&between), in(&f.src), u64(rows), u32(uint32(log1)), u32(uint32(log2)), u32(uint32(lanes[0])), f32(1), u32(f.inverse), u32(0)); err != nil {
		return err
	}
	cfg = driver.LaunchConfig{Block: driver.D1(1 << (log2 + lanes[1] - 3)), SharedMem: 8 << (log2 + lanes[1])}
	if err := blocks(&cfg, rows<<(log1-lanes[1])); err != nil {
		return err
	}
	return f.ops.launch(fftSource, c, kernelName{"fft_parts"}, &cfg,
		out(&f.dst), in(&between), u64(rows), u32(uint32(log1)), u32(uint32(log2)), u32(uint32(lanes[1])), f32(f.scale), u32(f.inverse), u32(1))
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
