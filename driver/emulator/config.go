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

// Config describes the machine that is emulated. The zero value is one device
// of compute capability 9.0 with 8 GiB of memory.
type Config struct {
	// Devices is the number of devices; 0 means 1, negative means none, so
	// that cuInit answers "no device".
	Devices int
	// Name is the name of every device. Empty: one that says "emulator".
	Name string
	// ComputeCapability is major and minor; zero means 9.0.
	ComputeCapability [2]int
	// Multiprocessors is the number of SMs; 0 means 132.
	Multiprocessors int
	// MemorySize is the memory each device reports; 0 means 8 GiB. It is
	// reserved, not allocated: the process pays only for what is written. (On
	// Linux, for allocations from 1 MiB on. Elsewhere Go may clear memory that it
	// uses again.)
	MemorySize uint64
	// LimitMemory, if not 0, is how much of it can be allocated before
	// CUDA_ERROR_OUT_OF_MEMORY, for tests of that case.
	LimitMemory uint64
	// DriverVersion is what cuDriverGetVersion answers; 0 means 13000.
	DriverVersion int
	// Log receives one record for each failed call, kernel fault, finding and
	// refused module; nil drops them. Its handler may ask the emulator and call
	// CUDA. But what a kernel does is told while it runs: there, a call that
	// waits for the kernel waits for ever.
	Log *slog.Logger
	// Stdout receives what kernels print; nil is the program's own, where a
	// driver prints too. io.Discard drops it.
	Stdout io.Writer
	// Workers bounds the thread blocks that run at a time; 0 is GOMAXPROCS, 1
	// makes every execution deterministic.
	Workers int
	// Profile counts instructions by opcode and the transactions of memory
	// accesses, see Emulator.Profile. Kernels run several times slower.
	Profile bool
	// CostModel, if not nil, has the times of events simulated; it counts like
	// Profile.
	CostModel *CostModel
	// Seed, if not 0, permutes the order of thread blocks and warps, and makes
	// the asynchronous copies of kernels (cp.async and its kin) as late as the
	// kernel waits for them.
	Seed uint64
	// Limits bound what modules and kernels may take of the process, for programs
	// that run the code of strangers.
	Limits Limits
	// ReuseAddresses gives the address of freed memory to the next allocation of
	// its size (in units of 512 bytes), as drivers do, for programs that rely on
	// it. By default an address is used once: then every access to freed memory is
	// an error, also one that a later allocation would hide.
	ReuseAddresses bool
	// Check are the sanitizer's optional checks, for Emulator.Findings.
	Check Check
}

// Limits are bounds besides LimitMemory, which covers everything that is device
// memory: allocations, the variables of modules, the local and shared memory of
// the blocks that run, the heap of malloc in kernels. The stack of one thread is
// 512 KiB, as on devices.
type Limits struct {
	// Variables is how many variables the declarations of a module that stand for
	// several, like x<100>, may stand for; 0 means 1,048,576. A module with more
	// is CUDA_ERROR_OUT_OF_MEMORY.
	Variables int
	// HostMemory is how much page-locked memory may be allocated at a time; 0
	// means 64 GiB. What is more is CUDA_ERROR_OUT_OF_MEMORY.
	HostMemory uint64
	// KernelTime is how long one kernel may run; what takes longer ends with
	// CUDA_ERROR_LAUNCH_TIMEOUT, as on a device that a display uses, and its line
	// is in the error. 0 is no limit: then closing what an endless kernel uses
	// waits for ever, and only Emulator.Close ends it.
	KernelTime time.Duration
	// Print is how many bytes kernels may print in all; 0 is no limit, as with a
	// driver. The rest is dropped.
	Print int64
}

const (
	defaultHost    = 64 << 30
	defaultMemory  = 8 << 30
	defaultVersion = 13000
	defaultSMs     = 132
)

// withDefaults fills what was left zero.
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

// limitedWriter passes on a number of bytes and then fails.
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
