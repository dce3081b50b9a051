package launchers

// MaxDims is the largest number of dimensions of a strided copy.
const MaxDims = 8

// Strided describes a [StridedCopy], which copies runs of bytes. The number of runs is the product
// of the extents. All runs have the same size. Strides and offsets are in bytes. Unused dimensions
// come first and have extent 1. kernels.NewStrided creates and checks a Strided from shapes and
// strides.
type Strided struct {
	Runs, Run            uint64 // number of runs, and bytes in each
	To, From             int64  // offsets of the first run
	Extent               [MaxDims]uint64
	ToStride, FromStride [MaxDims]int64
}
