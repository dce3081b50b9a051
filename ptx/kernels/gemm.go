package kernels

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/gemm"
)

var gemmSource = &gemm.Code

// Transposed says which factors of [Gemm] are transposed.
type Transposed uint32

// The factors that are transposed.
const (
	TransposedA Transposed = 1 << iota
	TransposedB
)

// Gemm returns the operation that computes c = alpha·a·b + beta·c. a has as many columns as b has rows.
// With TransposedA, a is replaced by its transpose: the matrix a then has as many rows as b. If beta is
// 0, c is not read, so it may be uninitialized. Matrices may have pitches. c must not overlap a and b.
//
// The products are added in order, by float32 fused multiply-add instructions without tensor cores. It
// is fastest if all rows begin at multiples of 16 bytes.
//
// Arguments: 0 c, 1 a, 2 b, 3 to 5 their pitches in elements (uint64), 6 rows of c, 7 columns of c, 8
// products in a sum (uint32), 9 alpha, 10 beta (float32), and one more. Do not change arguments 3 to 8
// and 11. It reads a and b, and reads and writes c.
func Gemm(c, a, b Matrix[float32], alpha, beta float32, transposed Transposed, again ...*driver.Launch) (*driver.Launch, error) {
	x, y, z := a.operand("a"), b.operand("b"), c.operand("c")
	l, err := gemmOf(&z, &x, &y, alpha, beta, transposed, reused(again))
	if err != nil {
		return nil, opError("gemm", err)
	}
	return l, nil
}

func gemmOf(c, a, b *box, alpha, beta float32, transposed Transposed, again *driver.Launch) (*driver.Launch, error) {
	if err := usable(c.operand, a.operand, b.operand); err != nil {
		return nil, err
	}
	if transposed > TransposedA|TransposedB {
		return nil, invalid("transposed is %d", transposed)
	}
	m, k, kb, n := a.rows, a.cols, b.rows, b.cols
	if transposed&TransposedA != 0 {
		m, k = k, m
	}
	if transposed&TransposedB != 0 {
		kb, n = n, kb
	}
	if c.rows != m || c.cols != n || k != kb {
		return nil, invalid("c is %v, but the product of %d × %d and %d × %d elements", c.shape, m, k, kb, n)
	}
	const most = 1<<31 - gemm.Tile
	if m > most || n > most || k > most {
		return nil, invalid("c is %v, with %d products: more than 2^31-128", c.shape, k)
	}
	for _, f := range [2]*box{a, b} {
		if c.access().Overlaps(f.access()) {
			return nil, invalid("c and %s overlap", f.name)
		}
	}
	tiles := uint64(m+gemm.Tile-1) / gemm.Tile * (uint64(n+gemm.Tile-1) / gemm.Tile)
	if tiles > 1<<31-1 {
		return nil, invalid("c is %v, more than 2^31-1 tiles of 128 × 128", c.shape)
	}
	flags := uint32(transposed)
	for i, f := range [3]*box{a, b, c} {
		if f.addr%16 == 0 && (f.rows <= 1 || f.pitch%4 == 0) {
			flags |= gemm.WideA << i
		}
	}
	cfg := driver.LaunchConfig{Grid: driver.D1(int(max(tiles, 1))), Block: driver.D1(gemm.Threads)}
	mk := maker{gemmSource, c.mem.Context(), kernelName{"gemm_f32"}, again}
	return mk.prepare(&cfg, inOut(&c.operand), in(&a.operand), in(&b.operand), u64(uint64(c.pitch)), u64(uint64(a.pitch)), u64(uint64(b.pitch)),
		u32(uint32(m)), u32(uint32(n)), u32(uint32(k)), f32(alpha), f32(beta), u32(flags))
}
