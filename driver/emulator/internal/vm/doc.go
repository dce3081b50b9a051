// Package vm executes PTX on the CPU. It is the engine of the emulated driver: an address space
// (Memory), modules compiled from a ptx syntax tree (Compile), and launches (Kernel.Launch). It
// knows nothing about driver handles, streams or graphs.
//
// # How a kernel runs
//
// Compile turns each kernel and the functions it can reach into one array of type-specialised
// instructions. Registers are columns of 32 values, one for each lane of a warp, in two banks (32
// and 64 bits). Predicates are 32-bit masks. A warp is a set of splits, each of which is a program
// counter with the mask of the lanes that are there. The split with the lowest program counter
// runs, and splits that meet merge. A split that keeps branching backwards yields, so that a lane
// that spins on a lock held by its neighbour makes progress. The warps of a block run on one
// goroutine, one at a time, and so do the blocks of a cluster. Other blocks run on several
// goroutines.
//
// # What it may import
//
// The standard library, package ptx and package lazymem.
//
// # The race detector
//
// The functions that access a kernel's registers and memory are marked norace. Data races of the
// emulated kernel are not races of the Go program, and the emulator has its own check for them
// (CheckGlobalRaces). The driver's channels and locks order a launch with copies and with other
// launches, and the detector sees those.
package vm
