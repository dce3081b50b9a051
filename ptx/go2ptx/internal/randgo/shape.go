package randgo

// The shape of a launch and of the data of each kernel.
const (
	Blocks  = 2
	Block   = 64
	Threads = Blocks * Block
	Ints    = 4 // results of a thread
	Floats  = 2 // and as many float32
	Cells   = 16
	Inputs  = 97        // elements of each input
	Dynamic = 8 * Block // bytes of dynamic shared memory
)
