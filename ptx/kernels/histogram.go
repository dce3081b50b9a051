package kernels

import (
	"math/bits"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal/histogram"
)

var histogramSource = &histogram.Code

// Histogram returns the operation that counts the values of src: for each element v, it adds 1 to
// counts[v]. Elements that are negative or not less than the length of counts are ignored. Counters
// wrap around. The operation adds to what counts contains. Use [Fill] to set it to 0 first.
//
// It is fastest with up to 12,288 counters, which fit in shared memory.
//
// Arguments: 0 counts, 1 number of counters (uint64), 2 src, 3 number of elements (uint64), and one
// more, which must not be changed. It reads src, and reads and writes counts.
func Histogram[T uint8 | int32 | uint32 | int64](counts driver.MemoryOf[uint32], src driver.MemoryOf[T], again ...*driver.Launch) (*driver.Launch, error) {
	c, s := operandOf("counts", counts), operandOf("src", src)
	if err := usable(c, s); err != nil {
		return nil, opError("histogram", err)
	}
	if err := apart(c, s); err != nil {
		return nil, opError("histogram", err)
	}
	n, err := multiprocessors(c.mem.Context())
	if err != nil {
		return nil, opError("histogram", err)
	}
	elements, bins := bitsName[T](), c.n
	switch typeOf[T]() {
	case typeI32:
		bins = min(bins, 1<<31) // more would be those of negative numbers
	case typeI64:
		elements = "i64"
	}
	cfg, kernel, last := histogramOf(bins, s, n, elements)
	m := maker{histogramSource, c.mem.Context(), kernel, reused(again)}
	l, err := m.prepare(&cfg, inOut(&c), u64(bins), in(&s), u64(s.n), last)
	if err != nil {
		return nil, opError("histogram", err)
	}
	return l, nil
}

// sharedBytes is the shared memory that every device gives to a block.
const sharedBytes = 48 << 10

// histogramOf returns the launch, the kernel and its last argument for a number of counters.
func histogramOf(bins uint64, src operand, multiprocessors uint64, elements string) (driver.LaunchConfig, kernelName, arg) {
	if src.size == 1 {
		skip := min(-src.addr%histogram.Pack, src.n)
		packs := (src.n - skip) / histogram.Pack
		blocks := min((packs+histogram.ByteThreads-1)/histogram.ByteThreads, multiprocessors*6)
		cfg := driver.LaunchConfig{Grid: driver.D1(int(max(blocks, 1))), Block: driver.D1(histogram.ByteThreads)}
		return cfg, kernelName{"histogram_u8"}, u64(skip)
	}
	// A thread counts at least 16 elements, if there are so many, so that the counters are rarely combined.
	blocks := max(min((src.n+16*histogram.Threads-1)/(16*histogram.Threads), multiprocessors*8), 1)
	cfg := driver.LaunchConfig{Grid: driver.D1(int(blocks)), Block: driver.D1(histogram.Threads)}
	if bins > sharedBytes/4 {
		return cfg, kernelName{"histogram_many_", elements}, u32(1)
	}
	// Some warps share a copy of the counters. 24 KiB for a block allow 8 blocks on a multiprocessor.
	copies := uint64(1)
	if room := sharedBytes / 8 / max(bins, 1); room > 1 {
		copies = min(uint64(1)<<(bits.Len64(room)-1), 8)
	}
	cfg.SharedMem = uint32(4 * bins * copies)
	return cfg, kernelName{"histogram_", elements}, u32(uint32(copies))
}
