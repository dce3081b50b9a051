// Package emulator is a CUDA driver that needs no GPU: a loader.Library whose functions are Go
// functions and whose device is the CPU.
//
// The emulator is a second implementation of the driver's documented behaviour, not a mock. It
// executes PTX, and streams run asynchronously and in order. Stream capture and graphs have the
// features and restrictions of CUDA 13.0, and every failure has the driver's result code. Functions
// that the emulator lacks return CUDA_ERROR_NOT_SUPPORTED, and the log names the missing feature.
// Refused and docs/emulator-functions.md list these functions. docs/emulator-instructions.md lists
// the instructions.
//
// The emulator is never selected implicitly. A program must call New to use it, and the device's
// name says that the device is emulated.
//
//	emu := emulator.New(emulator.Config{})
//	defer emu.Close()
//	d, err := driver.New(emu)
//
// A kernel that makes an invalid access fails as on a device. Findings reports the instruction, the
// thread and the nearest allocation. Config.Check enables checks for races, reads of uninitialized
// memory and other errors. Schedules runs a program with different orders of blocks and warps.
// docs/emulator.md shows each report.
//
// Profile and Stats count the work that the devices do, and a CostModel simulates its duration.
// Package cudatest provides all of this to tests.
//
// This package imports package loader, package ptx and the driver's raw types. It imports none of
// the typed layers above them.
package emulator
