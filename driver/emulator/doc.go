// Package emulator is a CUDA driver that needs no GPU: a loader.Library whose
// functions are Go functions and whose device is the CPU.
//
// It is a second implementation of the driver's documented behaviour, not a
// mock: PTX is executed, streams run asynchronously and in order, stream
// capture, graphs and their restrictions are those of CUDA 13.0, and every
// failure has the code that a driver gives. What a device has and the emulator
// has not answers CUDA_ERROR_NOT_SUPPORTED, and the log says what that is:
// Refused and docs/emulator-functions.md list those functions,
// docs/emulator-instructions.md the instructions.
//
// Nothing chooses it silently: only a program that calls New runs on it, and
// the device's name says what it is.
//
//	emu := emulator.New(emulator.Config{})
//	defer emu.Close()
//	d, err := driver.New(emu)
//
// A kernel that accesses what it must not ends as on a device, and Findings
// says which instruction of which thread did so, and what is near the address.
// Config.Check has it look for races, reads of what nobody wrote and more;
// Schedules tries other orders of blocks and warps. docs/emulator.md shows each
// report.
//
// Profile and Stats count what the device did, and a CostModel simulates how
// long it would have taken; package cudatest gives all of this to tests.
//
// It imports the loader, the ptx package and the raw types of the driver, and
// nothing of the typed layers above.
package emulator
