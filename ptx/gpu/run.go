package gpu

import (
	"io"
)

// An Option configures Run.
//
//gpu:host
type Option func(*grid)

// SharedSize sets the size of the dynamic shared memory in bytes.
//
//gpu:host
func SharedSize(bytes int) Option { return func(g *grid) { g.dynamic = bytes } }

// Cluster runs the blocks in clusters of the given size, which must divide the grid.
//
//gpu:host
func Cluster(size Dim) Option { return func(g *grid) { g.cluster = size.size() } }

// Cooperative runs all blocks concurrently, so that GridSync works.
//
//gpu:host
func Cooperative() Option { return func(g *grid) { g.cooperative = true } }

// Output sets the destination of Printf. The default is os.Stdout.
//
//gpu:host
func Output(w io.Writer) Option { return func(g *grid) { g.output = w } }

// Run calls kernel once for each thread of a grid, and returns when all calls have returned. The
// threads of a block run concurrently, each in its own goroutine. Blocks start in order, and up to
// runtime.GOMAXPROCS blocks run at the same time.
//
// If a thread panics, Run stops the threads that wait for it and returns a *Panic. If no thread of
// a block can continue, Run returns a *Deadlock. If several threads fail, Run reports the first
// block and thread, so that every run reports the same failure. Run also returns an error if a size
// is out of range.
//
// A loop that polls memory must call Sleep. Otherwise it never ends if the thread that it waits for
// panics.
//
//gpu:host
func Run(grid, block Dim, kernel func(t Thread), options ...Option) error {
	return run(grid, block, kernel, options)
}
