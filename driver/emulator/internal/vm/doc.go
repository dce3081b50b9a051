// Package vm executes PTX on the CPU. It is the engine of the emulated
// driver: an address space (Memory), modules compiled from a ptx syntax tree
// (Compile), and launches (Kernel.Launch). It knows nothing of driver
// handles, streams or graphs.
//
// # How a kernel runs
//
// Compile turns each kernel and the functions it can reach into one array of
// type-specialised instructions. Registers are columns of 32 values, one for
// each lane of a warp, in two banks (32 and 64 bits); predicates are 32-bit
// masks. A warp is a set of splits, each a program counter with the mask of
// the lanes that are there. The split with the lowest program counter runs,
// splits that meet merge, and a split that keeps branching backwards yields,
// so that a lane that spins on a lock held by its neighbour ends. The warps
// of a block run on one goroutine, one at a time, and so do the blocks of a
// cluster; others run on several.
//
// # What it may import
//
// The standard library and package ptx.
//
// # The race detector
//
// The functions that touch a kernel's registers and memory are marked
// norace: data races of the emulated kernel are not races of the Go program,
// and the emulator has a check of its own for them (CheckGlobalRaces). What
// orders a launch with copies and with other launches are the driver's
// channels and locks, which the detector sees.
package vm
