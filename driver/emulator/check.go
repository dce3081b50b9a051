package emulator

import "github.com/purecuda/cuda/driver/emulator/internal/vm"

// Check is a set of the sanitizer's optional checks, for Config.Check. Accesses
// outside of allocations, after free, misaligned or in the wrong space end a
// kernel whatever is set, as on a device.
//
// CheckSharedRaces, CheckGlobalRaces and CheckUninitialized make kernels some
// 20 times slower and run the blocks of a launch one at a time, so that what
// is found depends on Config.Seed alone. Without them nothing is slower.
type Check uint32

// The optional checks. None of them changes what a program computes.
const (
	// CheckBarriers finds barriers that some threads of a block never reach,
	// because they have exited, or that a warp reaches at several places.
	CheckBarriers Check = 1 << iota
	// CheckSharedRaces finds accesses to shared memory, one of them a write,
	// that no barrier orders. Atomic and volatile accesses count as if they
	// ordered the whole block, so races across them are not found.
	CheckSharedRaces
	// CheckGlobalRaces finds unordered accesses to global memory: of threads,
	// warps and blocks in a launch, of launches and copies in different streams,
	// and of nodes of a graph. Blocks are ordered by a fence followed by an
	// atomic or volatile access that another block's such access reads; streams
	// by events, the legacy stream's rules, and what the host waited for.
	CheckGlobalRaces
	// CheckUninitialized finds reads of shared, local and device memory that
	// nobody wrote.
	CheckUninitialized
	// CheckHostMemory finds page-locked memory that the host writes while an
	// asynchronous copy from or to it is in flight. It compares contents, so it
	// sees no reads and no writes of what was there already, and it looks away
	// where the device may write too: other copies, fills, graphs, and kernels
	// with a pointer to that memory among their arguments. The host may go by a
	// word that a stream writes, but not by one that a kernel does.
	CheckHostMemory
	// CheckGraphPointers finds copy nodes that refer to pageable host memory,
	// which a graph reads or writes at each launch, long after the call that
	// was given the pointer.
	CheckGraphPointers
	// CheckLeaks keeps where each object was made, and makes findings of what
	// is open when the emulator is closed.
	CheckLeaks

	// CheckAll is all of them.
	CheckAll = CheckLeaks<<1 - 1
)

// engine translates the checks of kernels.
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

// ordering are the checks that ask what is ordered.
const ordering = CheckGlobalRaces | CheckHostMemory
