package kernels

import (
	"math/bits"

	"github.com/purecuda/cuda/driver"
)

// A team of threads shares one row. These are the limits of its size, and the number of
// threads in a block of several teams.
const (
	warp      = 32
	mostTeam  = 512
	fullBlock = 256
)

// blocksEach is how many full blocks a multiprocessor runs at a time.
const blocksEach = 4

// mostBlocks is the largest grid over rows; beyond it, the kernels loop over the
// remaining rows.
const mostBlocks = 1 << 20

// team returns how many threads share a row if each takes a given number of elements,
// up to a limit: whole warps, or 1, 2, 4, 8 or 16 threads of one warp.
func team(cols, each uint64, most int) int {
	threads := max((cols+each-1)/each, 1)
	if threads < warp {
		return 1 << bits.Len64(threads-1)
	}
	return warp * int(min((threads+warp-1)/warp, uint64(most)/warp))
}

// teamFor is team for threads that go over their row in steps of a number of elements.
// If there are enough rows to fill the device, few threads share a row and each takes
// several steps. That keeps the cost of combining their results low.
func teamFor(multiprocessors, rows, cols, step uint64) int {
	if rows < multiprocessors*manyRows {
		return team(cols, step, mostTeam)
	}
	if near := (cols + 2*step) / (4 * step); near <= warp {
		return max(team(near, 1, warp), 2)
	}
	return team(cols, 4*step, fullBlock)
}

// manyRows is how many rows per multiprocessor are enough for small teams: as many as a
// multiprocessor has room for with the smallest team.
const manyRows = 64

func multiprocessors(c *driver.Context) (uint64, error) {
	d, err := deviceOf(c)
	if err != nil {
		return 0, err
	}
	return d.multiprocessors, nil
}

// deal returns the launch of teams for rows. Small teams share a block.
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

// inTurns returns a launch with fewer blocks, each of which handles several rows in
// turn. If a turn is short or a block large, starting a block costs more than another
// turn.
func inTurns(cfg driver.LaunchConfig, multiprocessors uint64) driver.LaunchConfig {
	cfg.Grid.X = uint32(min(uint64(cfg.Grid.X), multiprocessors*turnsOf))
	return cfg
}

// turnsOf is how many blocks inTurns launches per multiprocessor.
const turnsOf = 64

// inRegisters is how many elements of a row a thread can keep in registers, if rows are whole
// packs. inRegistersShort is the best number for very short rows that are not.
const (
	inRegisters      = 32
	inRegistersShort = 8
)

// longEach is how many longer rows each multiprocessor works on at a time. They are
// read twice, so it is only enough to keep the device busy: the fewer rows, the more of
// them is still cached.
const longEach = 2

// rowwise is an operation from rows to rows. Rows are read once if a team can hold
// them.
type rowwise struct {
	source   source
	kernel   kernelName
	dst, src box
	columns  [2]operand // operands with one element per column, or none
	long     *newer     // the kernel for rows that are too long for a block
	again    *driver.Launch
}

func (r *rowwise) prepare(args ...arg) (*driver.Launch, error) {
	c, rows, cols := r.dst.mem.Context(), uint64(r.dst.rows), uint64(r.dst.cols)
	if cols > inRegisters*mostTeam {
		s, kernel, err := r.long.orOlder(r.source, c, r.kernel)
		if err != nil {
			return nil, err
		}
		if kernel != r.kernel {
			m := maker{s, c, kernel, r.again}
			l, err := r.prepareClusters(&m, args)
			if l != nil || err != nil {
				return l, err
			}
		}
	}
	s, kernel, err := rowsSm80.orOlder(r.source, c, r.kernel)
	if err != nil {
		return nil, err
	}
	n, err := multiprocessors(c)
	if err != nil {
		return nil, err
	}
	if cols > inRegisters*mostTeam {
		rows = min(rows, longEach*n)
	}
	threads := r.team(cols)
	cfg := deal(rows, threads)
	if threads > fullBlock || threads <= 2 || r.short() {
		cfg = inTurns(cfg, n)
	}
	m := maker{s, c, kernel, r.again}
	return m.prepare(&cfg, args...)
}

// team returns how many threads share a row. A row that is not whole packs is read
// twice unless it is short, the second time from the L1 cache.
func (r *rowwise) team(cols uint64) int {
	packs := 4 * pack(r.dst.size)
	switch {
	case r.packed() && cols <= packs*warp:
		// If rows are at most a cache line, each thread takes less, so that several
		// read the line at once.
		line := lineBytes / uint64(r.dst.size)
		return max(team(cols, packs, warp), team(min(cols, line), packs/2, warp))
	case r.packed():
		return team(cols, inRegisters, mostTeam)
	case r.dst.size == 4 && cols <= inRegistersShort*16:
		return team(cols, inRegistersShort, warp)
	case r.dst.size == 4 && cols <= 2*inRegistersShort*warp:
		return team(cols, 2*inRegistersShort, warp)
	}
	return max(team((cols+packs)/(2*packs), 1, mostTeam), 2)
}

// lineBytes is the size of an L1 cache line.
const lineBytes = 128

// short reports whether rows are read in packs and are at most a cache line long.
func (r *rowwise) short() bool {
	return r.packed() && uint64(r.dst.cols)*uint64(r.dst.size) <= lineBytes
}

// packed reports whether rows can be read and written in packs of 16 bytes, like the
// function of the same name in rows.cuh.
func (r *rowwise) packed() bool {
	for _, b := range [2]*box{&r.dst, &r.src} {
		if n := int(pack(b.size)); b.addr%16 != 0 || b.pitch%n != 0 || b.cols%n != 0 {
			return false
		}
	}
	for i := range r.columns {
		if r.columns[i].addr%16 != 0 { // 0 for none
			return false
		}
	}
	return true
}

// On devices with clusters, a cluster of up to mostCluster blocks shares a long row.
// Each thread holds packsInRegisters packs, as cluster.cuh says. residentThreads is how many
// threads of these kernels fit the registers of a multiprocessor.
const (
	mostCluster      = 8
	packsInRegisters = 8
	residentThreads  = 1024
)

// clusterTurns is the number of clusters launched for each that can run at a time. With
// only one, all would read at the same time and then write at the same time.
const clusterTurns = 16

// prepareClusters is prepare for rows that no block can hold. It returns nil if the
// device has no room for a cluster.
func (r *rowwise) prepareClusters(m *maker, args []arg) (*driver.Launch, error) {
	cfg, turns := r.cluster()
	l, err := m.prepare(&cfg, args...)
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

// cluster returns the launch of one cluster, and for how many turns of the device to
// launch clusters. Rows that cannot be held are read twice, the second time from the
// cache, which holds more of each if fewer are in work. There each thread does more,
// because threads are started only once.
func (r *rowwise) cluster() (cfg driver.LaunchConfig, turns int) {
	each := packsInRegisters * pack(r.dst.size)
	turns = clusterTurns
	if !r.packed() || uint64(r.dst.cols) > mostCluster*mostTeam*each {
		each, turns = 2*each, 1
	}
	blocks, threads := clusterFor(uint64(r.dst.cols), each)
	return driver.LaunchConfig{
		Grid:    driver.D1(blocks),
		Block:   driver.D1(threads),
		Cluster: driver.D1(blocks),
	}, turns
}

// clusterFor returns how many blocks of how many threads share a row, if each thread
// can take a given number of elements. It prefers the fewest blocks that hold the row,
// unless more blocks allow more rows at a time.
func clusterFor(cols, each uint64) (blocks, threads int) {
	fits := false
	for n := 1; n <= mostCluster; n *= 2 {
		share := (cols + uint64(n) - 1) / uint64(n)
		t := max(team(share, each, mostTeam), warp)
		if !fits || residentThreads/t*blocks > residentThreads/threads*n {
			blocks, threads = n, t
		}
		fits = fits || share <= uint64(t)*each
	}
	return blocks, threads
}

// optional passes memory that is only read, or a null pointer if there is none.
func optional(o *operand) arg {
	if o.none {
		return arg{}
	}
	return in(o)
}

// perColumn checks memory with one element per column, which may be nil.
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
