// Package transpose contains the kernels of kernels.Transpose.
package transpose

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// transpose sets dst[b][j][i] to src[b][i][j], for b < batches, i < rows and j < columns, and elements of 1, 2, 4
// or 8 bytes. Package kernels sets more registers for 4 bytes.
//
//gpu:kernel block=256 regs=32
func transpose(t gpu.Thread, dst, src, batches, rows, columns uint64, size uint32) {
	each, side := uint64(size), uint64(pack.TileSide(int(size)))
	across, down := (columns+side-1)/side, (rows+side-1)/side
	for n := uint64(t.BlockX()); n < batches*across*down; n += uint64(t.GridDimX()) {
		above := pack.Div(n, across)
		batch := pack.Div(above, down)
		j, i := (n-above*across)*side, (above-batch*down)*side
		matrix := batch * rows * columns
		to, from := dst+(matrix+j*rows+i)*each, src+(matrix+i*columns+j)*each
		if size == 8 {
			pack.Tile[uint64](t, to, from, 8, int(rows)*8, 8, int(columns)*8, int(columns-j), int(rows-i), 8)
		} else {
			pack.Tile[uint32](t, to, from, int(size), int(rows*each), int(size), int(columns*each), int(columns-j), int(rows-i), int(size))
		}
	}
}
