package kernels

import "github.com/purecuda/cuda/driver"

// A team of threads has a row to itself. These are the limits of its size, and
// how many threads a block of several teams has.
const (
	warp      = 32
	mostTeam  = 512
	fullBlock = 256
)

// blocksEach is how many full blocks a multiprocessor works on.
const blocksEach = 4

// mostBlocks is where a grid over rows ends; the kernels go on to what is left.
const mostBlocks = 1 << 20

// team is how many threads share a row of which each takes so many elements, up
// to a limit.
func team(cols, each uint64, most int) int {
	warps := (cols + each*warp - 1) / (each * warp)
	return warp * int(min(max(warps, 1), uint64(most)/warp))
}

// teamFor is team for threads that go over their row in steps of so many
// elements. Where rows are enough to fill the device few threads share one, each
// taking several steps, so that little is spent on bringing together what they
// found.
func teamFor(c *driver.Context, rows, cols, step uint64) (int, error) {
	n, err := c.Device().Attribute(driver.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
	if err != nil {
		return 0, err
	}
	if rows >= uint64(n)*manyRows {
		return team(cols, 4*step, fullBlock), nil
	}
	return team(cols, step, mostTeam), nil
}

// manyRows is how many rows for each multiprocessor are enough for small teams:
// with the smallest, as many as it has room for.
const manyRows = 64

// deal is the launch of teams for rows: small ones share a block.
func deal(rows uint64, team int) driver.LaunchConfig {
	teams := 1
	if team == warp {
		teams = fullBlock / warp
	}
	blocks := (rows + uint64(teams) - 1) / uint64(teams)
	return driver.LaunchConfig{
		Grid:  driver.D1(int(min(max(blocks, 1), mostBlocks))),
		Block: driver.D2(team, teams),
	}
}

// held is how many elements of a row a thread can keep in registers.
const held = 32

// longEach is how many longer rows are worked on at a time by each multiprocessor.
// They are read twice, so no more than keep it busy: the fewer, the more of them
// is still in the cache.
const longEach = 2

// perRow prepares an operation on rows that are read once if their team can hold
// them. It is for kernels that newer devices have in rowsSm80, in the types that
// gain by it.
func (s source) perRow(kernel string, dst box, args ...any) (*driver.Launch, error) {
	c, rows, cols := dst.mem.Context(), uint64(dst.rows), uint64(dst.cols)
	if cols > held*mostTeam {
		n, err := c.Device().Attribute(driver.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
		if err != nil {
			return nil, err
		}
		rows = min(rows, longEach*uint64(n))
	}
	s, kernel, err := rowsSm80.orOlder(s, c, kernel)
	if err != nil {
		return nil, err
	}
	return s.prepare(c, kernel, deal(rows, team(cols, held, mostTeam)), args...)
}

// optional is memory as an argument that is only read, or none.
func optional(o operand) any {
	if o.mem == nil {
		return driver.CUdeviceptr(0)
	}
	return driver.In(o.mem)
}

// perColumn checks memory that has an element per column, and may be nil.
func perColumn[T any](name string, m driver.MemoryOf[T], cols int) operand {
	if m == nil {
		return operand{name: name}
	}
	o := operandOf(name, m)
	if o.err == nil && o.n != uint64(cols) {
		o.err = invalid("%s has %d elements, but rows have %d", name, o.n, cols)
	}
	return o
}
