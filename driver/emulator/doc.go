// Package emulator is a CUDA driver that needs no GPU: a loader.Library whose functions are Go
// functions and whose device is the CPU.
//
// It is a second implementation of the driver's documented behaviour, not a mock. It executes PTX,
// and streams run asynchronously and in order. Stream capture, graphs and their restrictions are
// those of CUDA 13.0, and every failure has the code that a driver returns. Functions that the
// emulator lacks return CUDA_ERROR_NOT_SUPPORTED, and the log says what is missing. Refused and
// docs/emulator-functions.md list those functions, and docs/emulator-instructions.md lists the
// instructions.
//
// It is never chosen silently: only a program that calls New runs on it, and the device's name
// identifies it.
//
//	emu := emulator.New(emulator.Config{})
//	defer emu.Close()
//	d, err := driver.New(emu)
//
// A kernel that makes an invalid access fails as on a device. Findings reports the instruction, the
// thread, and what is near the address. With Config.Check, the emulator also looks for races,
// uninitialized reads and more. Schedules tries other orders of blocks and warps. docs/emulator.md
// shows each report.
//
// Profile and Stats count what the device did, and a CostModel simulates how long it would have
// taken. Package cudatest makes all of this available to tests.
//
// It imports the loader, the ptx package and the raw types of the driver, and nothing of the typed
// layers above.
package emulator
