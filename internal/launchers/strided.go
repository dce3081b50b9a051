package launchers

// MaxDims is how many dimensions a strided copy has at most.
const MaxDims = 8

// Strided is what [StridedCopy] copies: runs of bytes, as many as the product of
// the extents. Strides and offsets are in bytes, of runs of one size. Dimensions
// that are not used come first and have the extent 1. kernels.NewStrided makes
// one of shapes and strides, and checks them.
type Strided struct {
	Runs, Run            uint64 // how many runs of bytes, and their length
	To, From             int64  // where the first one begins
	Extent               [MaxDims]uint64
	ToStride, FromStride [MaxDims]int64
}
