package launchers

// MaxDims is the largest number of dimensions of a strided copy.
const MaxDims = 8

// Strided describes a [StridedCopy]. It copies runs of bytes; their number is the
// product of the extents. Strides and offsets are in bytes, and all runs have the same
// size. Unused dimensions come first and have the extent 1. kernels.NewStrided creates
// and checks one from shapes and strides.
type Strided struct {
	Runs, Run            uint64 // number of runs, and bytes in each
	To, From             int64  // offsets of the first run
	Extent               [MaxDims]uint64
	ToStride, FromStride [MaxDims]int64
}
