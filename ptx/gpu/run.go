package gpu

import (
	"io"
)

// An Option changes how Run runs a kernel.
//
//gpu:host
type Option func(*grid)

// SharedSize sets the size of dynamic shared memory in bytes.
//
//gpu:host
func SharedSize(bytes int) Option { return func(g *grid) { g.dynamic = bytes } }

// Cluster runs the blocks in clusters of the given size, which must divide the grid.
//
//gpu:host
func Cluster(size Dim) Option { return func(g *grid) { g.cluster = size.size() } }

// Cooperative runs all blocks at the same time, so that GridSync works.
//
//gpu:host
func Cooperative() Option { return func(g *grid) { g.cooperative = true } }

// Output sets where Printf prints. The default is os.Stdout.
//
//gpu:host
func Output(w io.Writer) Option { return func(g *grid) { g.output = w } }

// Run calls kernel once for each thread of a grid, and returns when all calls have returned. The
// threads of a block run at the same time, each in a goroutine. Blocks begin in order, up to
// runtime.GOMAXPROCS at the same time.
//
// If a thread panics, Run returns a *Panic. Threads that wait for the panicked thread are stopped.
// If no thread of a block can continue, Run returns a *Deadlock. If several threads fail, Run
// reports the first block and thread, so that every run reports the same failure. Run also returns
// an error if a size is out of range.
//
// A loop that polls memory must call Sleep. Otherwise it continues forever after the thread that it
// waits for has panicked.
//
//gpu:host
func Run(grid, block Dim, kernel func(t Thread), options ...Option) error {
	return run(grid, block, kernel, options)
}
