package emulator

import (
	"fmt"
	"io"
	"log/slog"
	"os"
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
	// reserved, not allocated: the process pays only for what is written.
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
	// Check are the sanitizer's optional checks, for Emulator.Findings.
	Check Check
}

const (
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
	if c.DriverVersion == 0 {
		c.DriverVersion = defaultVersion
	}
	if c.Stdout == nil {
		c.Stdout = os.Stdout
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
