package randgo

// The dimensions of each launch, and the amounts of data of each kernel.
const (
	Blocks  = 2
	Block   = 64
	Threads = Blocks * Block
	Ints    = 4 // int64 results per thread
	Floats  = 2 // float32 and float64 results per thread
	Cells   = 16
	Inputs  = 97        // number of elements in each input
	Dynamic = 8 * Block // bytes of dynamic shared memory
)
