// Package kernelfault receives kernel faults: failed checks that compiled kernels record instead of
// trapping. It also makes the driver print the output of kernels. Package driver uses it for every module
// that it loads and for every wait.
//
// # Protocol
//
// A module with checks has the variables
//
//	.weak .global .align 16 .u64 __purecuda_fault[2];
//	.weak .global .align 4 .u32 __purecuda_claim;
//
// After loading a module, the host stores two device addresses in __purecuda_fault: that of a [Slot] and
// that of the context's summary word, a u32. Both are in page-locked memory of the context, mapped for the
// device. A slot has 128 bytes, in little-endian order:
//
//	+0   u32     flag
//	+4   u32     epoch, which only the host writes
//	+16  u64     device address of the site
//	+24  i64[3]  values, such as the index and the length
//	+48  u32[3]  block index
//	+60  u32[3]  thread index
//	+72  u32     claimed, which only late threads write
//	+76  zero
//
// A site is in a .global array of the module, at a multiple of 4: a u32 with the length of the text,
// followed by the text.
// The fields of the text are separated by NULs: kind, function, file, line, column, message, constants. The
// line and the column are decimal. The constants are the values that the kernel does not store, such as the length
// of an array: three decimal numbers that are separated by commas, or empty.
//
// A failing thread traps if __purecuda_fault is 0. Otherwise it reads the epoch e (ld.volatile) and
// claims the slot: with an atomic maximum, it raises __purecuda_claim to e+1. The thread that raised it
// writes the record, then flag = e+1, then summary = 1. A thread that is too late to raise __purecuda_claim
// stores the value that it found there in claimed, and then summary = 1. Both execute membar.sys before
// and after each of the last two stores. Every failing thread then exits. The record may lack values and indices that
// are 0, because the host clears all of them after it has read a record.
//
// The host clears the summary before it reads the slots. If the flag of a fault is not visible by
// then, the thread will set the summary again afterwards. After the host has read a record, it sets
// epoch = flag. Until then, no thread writes another record.
//
// Launches that run concurrently can share a slot. Suppose that a launch ends while a thread of
// another launch is writing the record. The wait for the first launch then finds a value of claimed
// that exceeds the epoch, but no flag. It waits for the flag. Otherwise it would not return a fault
// although threads of its launch have failed.
package kernelfault
