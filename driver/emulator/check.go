package emulator

import "github.com/purecuda/cuda/driver/emulator/internal/vm"

// Check is a set of the sanitizer's optional checks, for Config.Check. Accesses that are outside of
// allocations, after free, misaligned or in the wrong space always end a kernel, as on a device.
//
// CheckSharedRaces, CheckGlobalRaces and CheckUninitialized make kernels about 20 times slower and
// run the blocks of a launch one at a time. What they find then depends on Config.Seed alone.
// Without these three, nothing is slower.
type Check uint32

// The optional checks. None of them changes what a program computes.
const (
	// CheckBarriers finds barriers that some threads of a block never reach because they have
	// exited, and barriers that the threads of one warp reach at different places.
	CheckBarriers Check = 1 << iota
	// CheckSharedRaces finds pairs of accesses to shared memory that no barrier orders, where at
	// least one is a write. Atomic and volatile accesses count as if they ordered the whole block,
	// so races across them are not found.
	CheckSharedRaces
	// CheckGlobalRaces finds unordered accesses to global memory by threads, warps and blocks of a
	// launch, by launches and copies in different streams, and by nodes of a graph. A fence
	// followed by an atomic or volatile access orders one block before another whose atomic or
	// volatile access reads the value. Streams are ordered by events, by the rules of the legacy
	// stream, and by what the host waited for.
	CheckGlobalRaces
	// CheckUninitialized finds reads of shared, local and device memory that was never written.
	CheckUninitialized
	// CheckHostMemory finds page-locked memory that the host writes while an asynchronous copy from
	// or to it is in flight. It compares contents, so it detects neither reads nor writes that
	// leave the contents as they were. It skips memory that the device may also write: by other
	// copies, fills and graphs, and by kernels with a pointer to that memory among their arguments.
	// The host may rely on a word that a stream writes, but not on one that a kernel writes.
	CheckHostMemory
	// CheckGraphPointers finds copy nodes that refer to pageable host memory. A graph reads or
	// writes that memory at each launch, long after the call that passed the pointer.
	CheckGraphPointers
	// CheckLeaks records where each object was made, and reports a finding for each object still
	// open when the emulator is closed.
	CheckLeaks

	// CheckAll enables all of them.
	CheckAll = CheckLeaks<<1 - 1
)

// engine converts the checks to those of the engine that runs kernels.
func (c Check) engine() vm.Checks {
	var v vm.Checks
	for from, to := range map[Check]vm.Checks{
		CheckBarriers: vm.CheckBarriers, CheckSharedRaces: vm.CheckSharedRaces,
		CheckGlobalRaces: vm.CheckGlobalRaces, CheckUninitialized: vm.CheckUninitialized,
	} {
		if c&from != 0 {
			v |= to
		}
	}
	return v
}

// checks reports whether any of the given checks is on.
func (e *Emulator) checks(c Check) bool { return e.cfg.Check&c != 0 }

// ordering is the set of checks that need to know what is ordered.
const ordering = CheckGlobalRaces | CheckHostMemory
