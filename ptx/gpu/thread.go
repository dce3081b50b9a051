package gpu

// WarpSize is the number of threads in a warp.
const WarpSize = 32

// FullMask is the mask of all lanes of a warp.
const FullMask uint32 = 0xffffffff

// Dim is the size of a grid, block or cluster, or an index within one. In a size, a zero field
// means 1.
type Dim struct{ X, Y, Z int }

// D1 returns the size x × 1 × 1.
func D1(x int) Dim { return Dim{x, 1, 1} }

// D2 returns the size x × y × 1.
func D2(x, y int) Dim { return Dim{x, y, 1} }

// D3 returns the size x × y × z.
func D3(x, y, z int) Dim { return Dim{x, y, z} }

// Count returns the number of elements, X*Y*Z.
func (d Dim) Count() int { d = d.size(); return d.X * d.Y * d.Z }

// size replaces zero fields with 1.
func (d Dim) size() Dim {
	one := func(n int) int {
		if n == 0 {
			return 1
		}
		return n
	}
	return Dim{one(d.X), one(d.Y), one(d.Z)}
}

// at returns the index of the element with the given linear rank.
func (d Dim) at(rank int) Dim {
	return Dim{rank % d.X, rank / d.X % d.Y, rank / d.X / d.Y}
}

// rank returns the linear rank of the element with index i.
func (d Dim) rank(i Dim) int { return i.X + d.X*(i.Y+d.Y*i.Z) }

// Thread is the running thread of a kernel. Only the kernel and the functions it calls may use it.
// On a device, its size is zero.
type Thread struct{ s *thread }

// Device reports whether the code runs as PTX, on a device or on the emulator. Under Run, it
// returns false. The compiler removes code for the other case.
//
//gpu:intrinsic
func Device() bool { return false }

// Arch returns the architecture that the compiler compiles for: 90 with the target sm_90, and 0 if
// no target is set. Under Run, it returns 0. The compiler removes the code for other architectures.
// With the flag -variants of go2ptx, the same kernel is compiled for several.
//
//gpu:intrinsic
func Arch() int { return 0 }

// ThreadX returns the X index of the thread in its block (threadIdx.x).
//
//gpu:intrinsic
func (t Thread) ThreadX() int { return t.index().X }

// ThreadY returns the Y index of the thread in its block (threadIdx.y).
//
//gpu:intrinsic
func (t Thread) ThreadY() int { return t.index().Y }

// ThreadZ returns the Z index of the thread in its block (threadIdx.z).
//
//gpu:intrinsic
func (t Thread) ThreadZ() int { return t.index().Z }

// BlockX returns the X index of the block in the grid (blockIdx.x).
//
//gpu:intrinsic
func (t Thread) BlockX() int { return t.block().index.X }

// BlockY returns the Y index of the block in the grid (blockIdx.y).
//
//gpu:intrinsic
func (t Thread) BlockY() int { return t.block().index.Y }

// BlockZ returns the Z index of the block in the grid (blockIdx.z).
//
//gpu:intrinsic
func (t Thread) BlockZ() int { return t.block().index.Z }

// BlockDimX returns the number of threads of the block in X (blockDim.x).
//
//gpu:intrinsic
func (t Thread) BlockDimX() int { return t.grid().block.X }

// BlockDimY returns the number of threads of the block in Y (blockDim.y).
//
//gpu:intrinsic
func (t Thread) BlockDimY() int { return t.grid().block.Y }

// BlockDimZ returns the number of threads of the block in Z (blockDim.z).
//
//gpu:intrinsic
func (t Thread) BlockDimZ() int { return t.grid().block.Z }

// GridDimX returns the number of blocks of the grid in X (gridDim.x).
//
//gpu:intrinsic
func (t Thread) GridDimX() int { return t.grid().size.X }

// GridDimY returns the number of blocks of the grid in Y (gridDim.y).
//
//gpu:intrinsic
func (t Thread) GridDimY() int { return t.grid().size.Y }

// GridDimZ returns the number of blocks of the grid in Z (gridDim.z).
//
//gpu:intrinsic
func (t Thread) GridDimZ() int { return t.grid().size.Z }

// GlobalX returns the X index of the thread in the grid, BlockX*BlockDimX + ThreadX.
//
//gpu:intrinsic
func (t Thread) GlobalX() int { return t.BlockX()*t.BlockDimX() + t.ThreadX() }

// GlobalY returns the Y index of the thread in the grid.
//
//gpu:intrinsic
func (t Thread) GlobalY() int { return t.BlockY()*t.BlockDimY() + t.ThreadY() }

// GlobalZ returns the Z index of the thread in the grid.
//
//gpu:intrinsic
func (t Thread) GlobalZ() int { return t.BlockZ()*t.BlockDimZ() + t.ThreadZ() }

// GridStrideX returns the number of threads of the grid in X, GridDimX*BlockDimX. A loop that
// starts at GlobalX and advances by this number processes all elements, regardless of the size of
// the grid.
//
//gpu:intrinsic
func (t Thread) GridStrideX() int { return t.GridDimX() * t.BlockDimX() }

// GridStrideY returns the number of threads of the grid in Y.
//
//gpu:intrinsic
func (t Thread) GridStrideY() int { return t.GridDimY() * t.BlockDimY() }

// GridStrideZ returns the number of threads of the grid in Z.
//
//gpu:intrinsic
func (t Thread) GridStrideZ() int { return t.GridDimZ() * t.BlockDimZ() }

// Rank returns the linear index of the thread in its block. X varies fastest.
//
//gpu:intrinsic
func (t Thread) Rank() int { return t.grid().block.rank(t.index()) }

// BlockSize returns the number of threads of the block.
//
//gpu:intrinsic
func (t Thread) BlockSize() int { return t.grid().block.Count() }

// BlockRank returns the linear index of the block in the grid. X varies fastest.
//
//gpu:intrinsic
func (t Thread) BlockRank() int { return t.grid().size.rank(t.block().index) }

// GridSize returns the number of blocks of the grid.
//
//gpu:intrinsic
func (t Thread) GridSize() int { return t.grid().size.Count() }

// Lane returns the index of the thread in its warp, from 0 to 31.
//
//gpu:intrinsic
func (t Thread) Lane() int { return t.Rank() % WarpSize }

// Warp returns the index of the warp in the block. It is Rank divided by WarpSize.
//
//gpu:intrinsic
func (t Thread) Warp() int { return t.Rank() / WarpSize }

// ClusterX returns the X index of the cluster in the grid (%clusterid.x).
//
//gpu:intrinsic
func (t Thread) ClusterX() int { return t.BlockX() / t.ClusterDimX() }

// ClusterY returns the Y index of the cluster in the grid (%clusterid.y).
//
//gpu:intrinsic
func (t Thread) ClusterY() int { return t.BlockY() / t.ClusterDimY() }

// ClusterZ returns the Z index of the cluster in the grid (%clusterid.z).
//
//gpu:intrinsic
func (t Thread) ClusterZ() int { return t.BlockZ() / t.ClusterDimZ() }

// ClusterDimX returns the number of blocks of the cluster in X (%cluster_nctaid.x). A kernel that
// was launched without clusters has clusters of one block.
//
//gpu:intrinsic
func (t Thread) ClusterDimX() int { return t.grid().cluster.X }

// ClusterDimY returns the number of blocks of the cluster in Y (%cluster_nctaid.y).
//
//gpu:intrinsic
func (t Thread) ClusterDimY() int { return t.grid().cluster.Y }

// ClusterDimZ returns the number of blocks of the cluster in Z (%cluster_nctaid.z).
//
//gpu:intrinsic
func (t Thread) ClusterDimZ() int { return t.grid().cluster.Z }

// ClusterBlockX returns the X index of the block in its cluster (%cluster_ctaid.x).
//
//gpu:intrinsic
func (t Thread) ClusterBlockX() int { return t.BlockX() % t.ClusterDimX() }

// ClusterBlockY returns the Y index of the block in its cluster (%cluster_ctaid.y).
//
//gpu:intrinsic
func (t Thread) ClusterBlockY() int { return t.BlockY() % t.ClusterDimY() }

// ClusterBlockZ returns the Z index of the block in its cluster (%cluster_ctaid.z).
//
//gpu:intrinsic
func (t Thread) ClusterBlockZ() int { return t.BlockZ() % t.ClusterDimZ() }

// ClusterRank returns the linear index of the block in its cluster (%cluster_ctarank).
//
//gpu:intrinsic
func (t Thread) ClusterRank() int {
	return t.grid().cluster.rank(Dim{t.ClusterBlockX(), t.ClusterBlockY(), t.ClusterBlockZ()})
}

// ClusterSize returns the number of blocks of the cluster (%cluster_nctarank).
//
//gpu:intrinsic
func (t Thread) ClusterSize() int { return t.grid().cluster.Count() }
