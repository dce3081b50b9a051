package kernels

import (
	"math/bits"

	"github.com/purecuda/cuda/driver"
	rowkernels "github.com/purecuda/cuda/ptx/kernels/internal/rows"
	"github.com/purecuda/cuda/ptx/kernels/internal/variant"
)

// A team of threads shares one row. These are the limits on the size of a team, and the
// number of threads in a block of several teams.
const (
	warp      = 32
	mostTeam  = 512
	fullBlock = 256
)

// blocksEach is the number of blocks of fullBlock threads that a multiprocessor runs at a time.
const blocksEach = 4

// mostBlocks is the largest grid over rows. With more rows, the kernels loop.
const mostBlocks = 1 << 20

// team returns the number of threads that share a row if each thread processes "each"
// elements. The result is at most "most": whole warps, or 1, 2, 4, 8 or 16 threads.
func team(cols, each uint64, most int) int {
	threads := max((cols+each-1)/each, 1)
	if threads < warp {
		return 1 << bits.Len64(threads-1)
	}
	return warp * int(min((threads+warp-1)/warp, uint64(most)/warp))
}

// teamFor is like team, but for threads that process a row in steps of "step" elements. If there
// are enough rows to fill the device, teams are small and each thread takes several steps. Small
// teams lower the cost of combining the results of the threads.
func teamFor(multiprocessors, rows, cols, step uint64) int {
	if rows < multiprocessors*manyRows {
		return team(cols, step, mostTeam)
	}
	if near := (cols + 2*step) / (4 * step); near <= warp {
		return max(team(near, 1, warp), 2)
	}
	return team(cols, 4*step, fullBlock)
}

// manyRows is the minimum number of rows per multiprocessor for small teams. A multiprocessor has
// room for that many of the smallest teams.
const manyRows = 64

func multiprocessors(c *driver.Context) (uint64, error) {
	d, err := deviceOf(c)
	if err != nil {
		return 0, err
	}
	return d.multiprocessors, nil
}

// deal returns a launch with one team per row. Small teams share a block.
func deal(rows uint64, team int) driver.LaunchConfig {
	teams := 1
	if team <= warp {
		teams = fullBlock / team
	}
	blocks := (rows + uint64(teams) - 1) / uint64(teams)
	return driver.LaunchConfig{
		Grid:  driver.D1(int(min(max(blocks, 1), mostBlocks))),
		Block: driver.D2(team, teams),
	}
}

// inTurns returns a launch with at most "most" blocks, each of which processes several rows in turn.
func inTurns(cfg driver.LaunchConfig, most uint64) driver.LaunchConfig {
	cfg.Grid.X = uint32(min(uint64(cfg.Grid.X), most))
	return cfg
}

// turnsOf is the number of blocks per multiprocessor for reductions of short rows. Starting another block costs more
// than another turn.
const turnsOf = 64

// threadsOfTurns is the number of threads per multiprocessor for operations on rows, of which about
// residentThreads run at a time. With fewer, the last blocks would run for long while others are done.
const threadsOfTurns = 32 * residentThreads

// packsOfThread is the number of packs of 16 bytes of a row that a thread processes, unless there are more than
// mostTeam threads can process.
const packsOfThread = 8

// mostColumns limits the length of rows, because kernels count packs with 32 bits. Few devices have so much memory.
const mostColumns = 1 << 32

// longEach is the number of long rows that each multiprocessor processes at a time. Rows that are
// not kept are read twice. With fewer rows in progress, a larger part of each row stays in the cache.
// Therefore longEach is only just large enough to keep the device busy.
const longEach = 2

// rowwise is an operation that computes each row of dst from the same row of src. On devices with clusters, a row is
// read only once if the shared memory has room for it.
type rowwise struct {
	source   source
	kernel   kernelName
	dst, src box
	columns  bool   // whether there are operands with one element per column
	newer    *newer // kernels that use clusters
	again    *driver.Launch

	registers uint8 // of a thread of newer, or 0 for as many as its source says
}

func (r *rowwise) prepare(args ...arg) (*driver.Launch, error) {
	c, rows, cols := r.dst.mem.Context(), uint64(r.dst.rows), uint64(r.dst.cols)
	s, kernel, err := r.newer.orOlder(r.source, c, r.kernel)
	if err != nil {
		return nil, err
	}
	if cols >= mostColumns {
		return nil, invalid("rows have %d elements, but at most %d are supported", cols, uint64(mostColumns-1))
	}
	d, err := deviceOf(c)
	if err != nil {
		return nil, err
	}
	m := maker{s, c, kernel, r.again}
	if kernel != r.kernel && r.suitsBundles(d) {
		m.kernel[1] = "_short"
		if cols*uint64(r.dst.size)%packBytes != 0 {
			args[len(args)-1].bits |= uint64(rowkernels.Odd)
		}
		cfg := r.bundles()
		return m.prepare(&cfg, args...)
	}
	if kernel != r.kernel && cols > longRow {
		l, err := r.prepareClusters(&m, d, args)
		if l != nil || err != nil {
			return l, err
		}
	}
	threads := r.team(cols)
	kept := r.slots(d, cols, threads) >= r.mostPacks(cols, threads)
	if !kept {
		rows = min(rows, longEach*d.multiprocessors)
	}
	cfg := deal(rows, threads)
	cfg = inTurns(cfg, d.multiprocessors*threadsOfTurns/uint64(cfg.Block.X*cfg.Block.Y))
	if kernel != r.kernel { // on old devices, threads read rows from memory and the cache
		cfg.SharedMem = uint32(r.slots(d, cols, threads) * uint64(cfg.Block.X*cfg.Block.Y) * packBytes)
	}
	key := r.variant(&m, args)
	return m.prepareVariant(&key, &cfg, args)
}

// variant returns the variant of a kernel. A kernel of newer has r.registers.
func (r *rowwise) variant(m *maker, args []arg) variant.Key {
	key := m.variant(args)
	if m.kernel != r.kernel {
		key.Registers = r.registers
	}
	return key
}

// A bundle is up to 64 short rows that follow each other. One warp computes it, of the bundleWarps in a block: see
// package rows. Longer rows have few single elements. For fewer rows, more threads are faster.
const (
	bundleWarps = 4
	mostBundled = 512 // bytes of a row
	mostOfTwo   = 64  // bytes of a row of which a lane has two. With one, a bundle would be too small.
	mostOfF32   = 256 // bytes of a row of packs, with elements of 4 bytes
	bundledRows = 256 // minimum for each multiprocessor
)

// suitsBundles reports whether there are many short rows without gaps. Rows of packs must be aligned. With elements of 4
// bytes, they must have an even number of packs, because a lane visits 8 elements at a time.
func (r *rowwise) suitsBundles(d *device) bool {
	row := uint64(r.dst.cols) * uint64(r.dst.size)
	if row%packBytes == 0 && (r.dst.addr%packBytes != 0 || r.dst.size == 4 && (row%(2*packBytes) != 0 || row > mostOfF32)) {
		return false
	}
	return row <= mostBundled && r.dst.pitch == r.dst.cols && r.src.pitch == r.src.cols &&
		(r.dst.addr^r.src.addr)%packBytes == 0 && uint64(r.dst.rows) >= bundledRows*d.multiprocessors
}

func (r *rowwise) bundles() driver.LaunchConfig {
	// Longer rows have several lanes, or few warps would have room.
	row, lanes := uint64(r.dst.cols)*uint64(r.dst.size), 1
	if row > mostBundled/2 {
		lanes = 4
	}
	of := warp / lanes
	if row <= mostOfTwo {
		of *= 2
	}
	each, shared := bundleWarps*of, uint32(bundleWarps*rowkernels.BundleSize(row, uint64(of)))
	if r.columns {
		shared += uint32(rowkernels.OperandsSize(uint64(r.dst.cols)))
	}
	return driver.LaunchConfig{
		Grid:      driver.D1(min((r.dst.rows+each-1)/each, mostBlocks)),
		Block:     driver.D2(lanes, bundleWarps*warp/lanes),
		SharedMem: shared,
	}
}

// mostPacks returns the largest number of packs of a thread if "threads" threads share cols elements.
func (r *rowwise) mostPacks(cols uint64, threads int) uint64 {
	packs := cols / pack(r.src.size)
	return max((packs+uint64(threads)-1)/uint64(threads), 1)
}

// slots returns the number of packs of a thread for which the block has shared memory: all, or packsOfThread if a
// block cannot have so much.
func (r *rowwise) slots(d *device, cols uint64, threads int) uint64 {
	n, room := r.mostPacks(cols, threads), (d.sharedMemory-sharedOfRows)/packBytes/uint64(max(threads, fullBlock))
	if n <= room {
		return n
	}
	return min(room, packsOfThread)
}

// packBytes is the size of a pack in bytes.
const packBytes = 16

// sharedOfRows is at least the amount of shared memory that kernels over rows use for other purposes.
const sharedOfRows = 1024

// team returns the number of threads that share a row.
func (r *rowwise) team(cols uint64) int {
	// More threads read a cache line at the same time. What a thread computes once per row costs less for each byte if
	// elements are large.
	line, packs := lineBytes/uint64(r.dst.size), uint64(packsOfThread)
	if r.dst.size > 2 && cols <= packsOfThread/2*pack(r.dst.size)*warp {
		packs /= 2
	}
	threads := max(team(cols, packs*pack(r.dst.size), mostTeam), team(min(cols, line), 2*pack(r.dst.size), warp))
	if !r.packed() {
		// There can be almost two packs of single elements.
		threads = max(threads, team(cols, 2, warp/4))
	}
	return threads
}

// lineBytes is the size of an L1 cache line in bytes.
const lineBytes = 128

// packed reports whether rows consist of packs of 16 bytes.
func (r *rowwise) packed() bool { return r.dst.packed() && r.src.packed() }

func (b *box) packed() bool {
	n := int(pack(b.size))
	return b.addr%16 == 0 && b.pitch%n == 0 && b.cols%n == 0
}

// On devices with clusters, a cluster of up to mostCluster blocks shares a row of more than longRow elements.
// Each thread keeps packsOfThread packs. residentThreads is the number of threads of these kernels that fit in
// the registers of a multiprocessor.
const (
	mostCluster     = 8
	longRow         = 32 * mostTeam
	residentThreads = 1024
)

// clusterTurns is the number of clusters to launch for each cluster that can run at a time. With
// a value of 1, all clusters would first read at the same time and then write at the same time.
const clusterTurns = 16

// prepareClusters is like prepare, but for rows that are too long for a block. It returns nil if
// the device has no room for a cluster.
func (r *rowwise) prepareClusters(m *maker, d *device, args []arg) (*driver.Launch, error) {
	cfg, turns := r.cluster(d)
	key := r.variant(m, args)
	l, err := m.prepareVariant(&key, &cfg, args)
	if err != nil {
		return nil, err
	}
	clusters, err := l.Kernel().MaxActiveClusters(cfg)
	if clusters == 0 || err != nil {
		return nil, err
	}
	cfg.Grid.X *= uint32(max(min(r.dst.rows, turns*clusters), 1))
	return l, l.SetConfig(cfg)
}

// cluster returns a launch of one cluster, and the number of clusters to launch for each cluster
// that can run at the same time. Rows that are not kept are read twice, the second time from the
// cache. The cache holds more of each row if fewer rows are in progress. For such rows, only as many
// clusters are launched as can run at the same time, and each cluster does more work.
func (r *rowwise) cluster(d *device) (cfg driver.LaunchConfig, turns int) {
	each, cols := packsOfThread*pack(r.dst.size), uint64(r.dst.cols)
	if cols > mostCluster*mostTeam*each {
		each = 2 * each
	}
	blocks, threads := clusterFor(cols, each)
	// The share of a block is a number of packs.
	share := (cols/pack(r.dst.size) + uint64(blocks) - 1) / uint64(blocks) * pack(r.dst.size)
	slots := r.slots(d, share, threads)
	turns = clusterTurns
	if slots < r.mostPacks(share, threads) {
		turns = 1
	}
	return driver.LaunchConfig{
		Grid:      driver.D1(blocks),
		Block:     driver.D1(threads),
		Cluster:   driver.D1(blocks),
		SharedMem: uint32(slots * uint64(threads) * packBytes),
	}, turns
}

// clusterFor returns the number of blocks that share a row and the threads per block, if
// each thread can hold "each" elements. It prefers the fewest blocks that hold the row,
// unless more blocks allow more rows at a time. The longest rows are faster with mostCluster blocks:
// the other blocks of a multiprocessor compute while one waits for its cluster.
func clusterFor(cols, each uint64) (blocks, threads int) {
	fits := false
	for n := 1; n <= mostCluster; n *= 2 {
		share := (cols + uint64(n) - 1) / uint64(n)
		t := max(team(share, each, mostTeam), warp)
		now, before := residentThreads/t*blocks, residentThreads/max(threads, 1)*n // rows at a time
		if !fits || now > before || now == before && n == mostCluster && t >= fullBlock {
			blocks, threads = n, t
		}
		fits = fits || share <= uint64(t)*each
	}
	return blocks, threads
}

// optional passes memory that is only read, or a null pointer for an absent operand.
func optional(o *operand) arg {
	if o.none {
		return arg{}
	}
	return in(o)
}

// perColumn checks memory with one element per column. The memory may be nil.
func perColumn[T any](name string, m driver.MemoryOf[T], cols int) operand {
	if m == nil {
		return operand{name: name, none: true}
	}
	o := operandOf(name, m)
	if o.err == nil && o.n != uint64(cols) {
		o.err = invalid("%s has %d elements, but rows have %d", name, o.n, cols)
	}
	return o
}
