// Package transpose contains the kernels of kernels.Transpose.
package transpose

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module

// The names of types in the names of kernels.
type (
	b8  = uint8
	b16 = uint16
	b32 = uint32
	b64 = uint64
)

// transpose sets dst[b][j][i] to src[b][i][j], for b < batches, i < rows and j < columns.
//
//gpu:kernel block=256
//gpu:instance b8 b16 b32 b64
func transpose[B pack.Bits](t gpu.Thread, dst, src, batches, rows, columns uint64) {
	size := pack.Size[B]()
	side := uint64(pack.TileSide(size))
	across, down := (columns+side-1)/side, (rows+side-1)/side
	for n := uint64(t.BlockX()); n < batches*across*down; n += uint64(t.GridDimX()) {
		above := pack.Div(n, across)
		batch := pack.Div(above, down)
		j, i := (n-above*across)*side, (above-batch*down)*side
		matrix := batch * rows * columns
		pack.Tile[B](t, dst+(matrix+j*rows+i)*uint64(size), src+(matrix+i*columns+j)*uint64(size),
			size, int(rows)*size, size, int(columns)*size, int(columns-j), int(rows-i))
	}
}
