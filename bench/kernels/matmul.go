package kernels

import "github.com/purecuda/cuda/ptx/gpu"

// at returns an element of a matrix, or 0 outside of the matrix.
func at[T float32 | float64](x []T, rows, columns, row, column int32) T {
	if row < rows && column < columns {
		return x[row*columns+column]
	}
	return 0
}

// MatMul multiplies a, which has m×k elements, by b, which has k×n. A block computes 32×32 elements
// of c, one per thread, from tiles of a and b in shared memory.
//
//gpu:kernel block=32x32 restrict=c,a,b
func MatMul(t gpu.Thread, c, a, b []float32, m, n, k int32) {
	as := gpu.Shared[[32][32]float32](t)
	bs := gpu.Shared[[32][32]float32](t)
	tx, ty := int32(t.ThreadX()), int32(t.ThreadY())
	x, y := int32(t.GlobalX()), int32(t.GlobalY())
	var sum float32
	for i := int32(0); i < k; i += 32 {
		as[ty][tx] = at(a, m, k, y, i+tx)
		bs[ty][tx] = at(b, k, n, i+ty, x)
		t.Sync()
		for j := range as {
			sum += as[ty][j] * bs[j][tx]
		}
		t.Sync()
	}
	if y < m && x < n {
		c[y*n+x] = sum
	}
}

// SGemm multiplies a, which has m×k elements, by b, which has k×n. A block computes 64×64 elements
// of c, 4×4 per thread. Shared memory contains 16 columns of a, transposed, and 16 rows of b. While
// the block computes, it loads the next columns and rows.
//
//gpu:kernel block=256 restrict=c,a,b
func SGemm(t gpu.Thread, c, a, b []float32, m, n, k int32) {
	as := gpu.Shared[[2][16][68]float32](t)
	bs := gpu.Shared[[2][16][64]float32](t)
	tid := int32(t.ThreadX())
	tx, ty := tid%16, tid/16
	row, column := 64*int32(t.BlockY()), 64*int32(t.BlockX())
	var u, v [4]float32
	var sum [4][4]float32
	for j := range int32(4) {
		as[0][tx][ty+16*j] = at(a, m, k, row+ty+16*j, tx)
		bs[0][tid/64+4*j][tid%64] = at(b, k, n, tid/64+4*j, column+tid%64)
	}
	t.Sync()
	slab := 0
	for i := int32(16); i < k+16; i += 16 {
		for j := range int32(4) {
			u[j] = at(a, m, k, row+ty+16*j, i+tx)
			v[j] = at(b, k, n, i+tid/64+4*j, column+tid%64)
		}
		for p := range 16 {
			x := (*[4]float32)(as[slab][p][4*ty:])
			y := (*[4]float32)(bs[slab][p][4*tx:])
			for r := range sum {
				for q := range sum[r] {
					sum[r][q] += x[r] * y[q]
				}
			}
		}
		slab ^= 1
		for j := range int32(4) {
			as[slab][tx][ty+16*j] = u[j]
			bs[slab][tid/64+4*j][tid%64] = v[j]
		}
		t.Sync()
	}
	for r := range int32(4) {
		for q := range int32(4) {
			if y, x := row+4*ty+r, column+4*tx+q; y < m && x < n {
				c[y*n+x] = sum[r][q]
			}
		}
	}
}

// DGemm is like SGemm, but for float64. A block computes 32×32 elements of c, 2×2 per thread.
//
//gpu:kernel block=256 restrict=c,a,b
func DGemm(t gpu.Thread, c, a, b []float64, m, n, k int32) {
	as := gpu.Shared[[2][16][34]float64](t)
	bs := gpu.Shared[[2][16][32]float64](t)
	tid := int32(t.ThreadX())
	tx, ty := tid%16, tid/16
	row, column := 32*int32(t.BlockY()), 32*int32(t.BlockX())
	var u, v [2]float64
	var sum [2][2]float64
	for j := range int32(2) {
		as[0][tx][ty+16*j] = at(a, m, k, row+ty+16*j, tx)
		bs[0][tid/32+8*j][tid%32] = at(b, k, n, tid/32+8*j, column+tid%32)
	}
	t.Sync()
	slab := 0
	for i := int32(16); i < k+16; i += 16 {
		for j := range int32(2) {
			u[j] = at(a, m, k, row+ty+16*j, i+tx)
			v[j] = at(b, k, n, i+tid/32+8*j, column+tid%32)
		}
		for p := range 16 {
			x := (*[2]float64)(as[slab][p][2*ty:])
			y := (*[2]float64)(bs[slab][p][2*tx:])
			for r := range sum {
				for q := range sum[r] {
					sum[r][q] += x[r] * y[q]
				}
			}
		}
		slab ^= 1
		for j := range int32(2) {
			as[slab][tx][ty+16*j] = u[j]
			bs[slab][tid/32+8*j][tid%32] = v[j]
		}
		t.Sync()
	}
	for r := range int32(2) {
		for q := range int32(2) {
			if y, x := row+2*ty+r, column+2*tx+q; y < m && x < n {
				c[y*n+x] = sum[r][q]
			}
		}
	}
}
