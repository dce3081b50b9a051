package emulator

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Config describes the emulated machine. The zero value is one device of compute capability 9.0
// with 8 GiB of memory.
type Config struct {
	// Devices is the number of devices. 0 means 1. A negative number means none, so that cuInit
	// returns "no device".
	Devices int
	// Name is the name of every device. If it is empty, the device gets a name that says
	// "emulator".
	Name string
	// ComputeCapability is major and minor. Zero means 9.0.
	ComputeCapability [2]int
	// Multiprocessors is the number of SMs. 0 means 132.
	Multiprocessors int
	// MemorySize is the amount of memory that each device reports. 0 means 8 GiB. It is reserved,
	// not allocated: the process uses only as much as is written. (On Linux, this holds for
	// allocations of 1 MiB and more. Elsewhere, Go may clear memory that it reuses.)
	MemorySize uint64
	// LimitMemory, if not 0, is how much of MemorySize can be allocated before
	// CUDA_ERROR_OUT_OF_MEMORY. It is for tests of that case.
	LimitMemory uint64
	// DriverVersion is the version that cuDriverGetVersion returns. 0 means 13000.
	DriverVersion int
	// Log receives one record for each failed call, kernel fault, finding and rejected module. If
	// nil, they are discarded. The handler may query the emulator and call CUDA. Records about a
	// kernel arrive while the kernel still runs, and a handler that then waits for this kernel
	// deadlocks.
	Log *slog.Logger
	// Stdout receives what kernels print. If nil, they print to the program's own standard output,
	// as with a driver. io.Discard drops it.
	Stdout io.Writer
	// Workers limits how many thread blocks run concurrently. 0 means GOMAXPROCS, and 1 makes every
	// execution deterministic.
	Workers int
	// Profile counts instructions by opcode, and the transactions of memory accesses. See
	// Emulator.Profile. Kernels run several times slower.
	Profile bool
	// CostModel, if not nil, simulates the times of events. It counts instructions as Profile does.
	CostModel *CostModel
	// Seed, if not 0, permutes the order of thread blocks and warps. It also delays the
	// asynchronous copies of kernels (cp.async and the like) until the kernel waits for them.
	Seed uint64
	// Limits bound what modules and kernels may take from the process, for programs that run
	// untrusted code.
	Limits Limits
	// ReuseAddresses gives the address of freed memory to the next allocation of its size (in units
	// of 512 bytes), as drivers do, for programs that rely on it. By default an address is used
	// only once. Every access to freed memory is then an error, even if a later allocation would
	// otherwise hide it.
	ReuseAddresses bool
	// Check is the set of the sanitizer's optional checks, for Emulator.Findings.
	Check Check
}

// Limits are the bounds that go beyond LimitMemory. LimitMemory covers everything that is device
// memory: allocations, the variables of modules, the local and shared memory of the blocks that
// run, and the heap of malloc in kernels. The stack of one thread is 512 KiB, as on devices.
type Limits struct {
	// Variables limits how many variables a module may declare by declarations that stand for
	// several, like x<100>. 0 means 1,048,576. A module with more fails with
	// CUDA_ERROR_OUT_OF_MEMORY.
	Variables int
	// HostMemory limits how much page-locked memory may be allocated at a time. 0 means 64 GiB.
	// Beyond that, allocations fail with CUDA_ERROR_OUT_OF_MEMORY.
	HostMemory uint64
	// KernelTime is how long one kernel may run. A kernel that takes longer ends with
	// CUDA_ERROR_LAUNCH_TIMEOUT, as on a device that drives a display, and the error has its line.
	// 0 means no limit. Then closing an object that an endless kernel uses waits forever, and only
	// Emulator.Close ends the kernel.
	KernelTime time.Duration
	// Print is how many bytes kernels may print in all. 0 means no limit, as with a driver. Further
	// output is dropped.
	Print int64
}

const (
	defaultHost    = 64 << 30
	defaultMemory  = 8 << 30
	defaultVersion = 13000
	defaultSMs     = 132
)

// withDefaults fills in defaults for fields that are zero.
func (c Config) withDefaults() Config {
	if c.Devices == 0 {
		c.Devices = 1
	}
	c.Devices = max(c.Devices, 0)
	if c.ComputeCapability == [2]int{} {
		c.ComputeCapability = [2]int{9, 0}
	}
	if c.Name == "" {
		c.Name = fmt.Sprintf("purecuda emulator (sm_%d%d)", c.ComputeCapability[0], c.ComputeCapability[1])
	}
	if c.Multiprocessors == 0 {
		c.Multiprocessors = defaultSMs
	}
	if c.MemorySize == 0 {
		c.MemorySize = defaultMemory
	}
	if c.LimitMemory == 0 || c.LimitMemory > c.MemorySize {
		c.LimitMemory = c.MemorySize
	}
	if c.Limits.HostMemory == 0 {
		c.Limits.HostMemory = defaultHost
	}
	if c.DriverVersion == 0 {
		c.DriverVersion = defaultVersion
	}
	if c.Stdout == nil {
		c.Stdout = os.Stdout
	}
	if c.Limits.Print > 0 {
		c.Stdout = &limitedWriter{w: c.Stdout, left: c.Limits.Print}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// limitedWriter passes on a fixed number of bytes and then fails.
type limitedWriter struct {
	mu   sync.Mutex
	w    io.Writer
	left int64
}

var errPrinted = errors.New("emulator: kernels have printed as much as Config.Limits.Print allows")

func (l *limitedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(int64(len(b)), l.left)
	if n > 0 {
		written, err := l.w.Write(b[:n])
		l.left -= int64(written)
		if err != nil {
			return written, err
		}
	}
	if n < int64(len(b)) {
		return int(n), errPrinted
	}
	return int(n), nil
}
