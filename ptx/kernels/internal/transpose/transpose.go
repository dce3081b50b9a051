// Package transpose contains the kernels of kernels.Transpose.
package transpose

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// small sets dst[b][j][i] to src[b][i][j], for b < batches, i < rows and j < columns, and elements of 1, 2
// or 4 bytes.
//
//gpu:kernel block=256 minblocks=8 name=transpose
func small(t gpu.Thread, dst, src, batches, rows, columns uint64, size uint32) {
	transpose[uint32](t, dst, src, batches, rows, columns, int(size))
}

// large is like small, for elements of 8 bytes.
//
//gpu:kernel block=256 name=transpose_b64
func large(t gpu.Thread, dst, src, batches, rows, columns uint64, _ uint32) {
	transpose[uint64](t, dst, src, batches, rows, columns, 8)
}

func transpose[W pack.Word](t gpu.Thread, dst, src, batches, rows, columns uint64, size int) {
	side := uint64(pack.WordSide[W]())
	across, down := (columns+side-1)/side, (rows+side-1)/side
	for n := uint64(t.BlockX()); n < batches*across*down; n += uint64(t.GridDimX()) {
		above := pack.Div(n, across)
		batch := pack.Div(above, down)
		j, i := (n-above*across)*side, (above-batch*down)*side
		matrix := batch * rows * columns
		pack.Tile[W](t, dst+(matrix+j*rows+i)*uint64(size), src+(matrix+i*columns+j)*uint64(size),
			size, int(rows)*size, size, int(columns)*size, int(columns-j), int(rows-i), size)
	}
}
