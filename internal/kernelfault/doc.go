// Package kernelfault receives kernel faults: failed checks that compiled kernels record instead of
// trapping. It also makes the driver print the output of kernels. Package driver uses it for every module
// that it loads and for every wait.
//
// # Protocol
//
// A module with checks has the variable
//
//	.weak .global .align 32 .u64 __purecuda_fault[4];
//
// After loading a module, the host stores two device addresses at its beginning: that of a [Slot] and
// that of the context's summary word, a u32. Both are in page-locked memory of the context, mapped for the
// device. Only the device uses the claim, a u32 that follows. A slot has 160 bytes, in little-endian order:
//
//	+0   u32     flag
//	+4   u32     number of the next record, at first 1, which only the host writes
//	+16  u64     device address of the site
//	+24  i64[3]  values, such as the index and the length
//	+48  u32[3]  block index
//	+60  u32[3]  thread index
//	+80  u32     late, which only late threads write
//	+84  what late threads write has no meaning
//
// A site is in a .global array of the module, at a multiple of 4: a u32 with the length of the text,
// followed by the text.
// The fields of the text are separated by NULs: kind, function, file, line, column, message, constants. The
// line and the column are decimal. The constants are the values that the kernel does not store, such as the length
// of an array: three decimal numbers that are separated by commas, or empty.
//
// A failing thread reads the number n (ld.volatile) and claims the slot: with an atomic maximum, it raises the
// claim to n. The thread that raised it writes the record, then flag = n, then a number other than 0 to the summary.
// A thread that is too late to raise the claim stores the value that it found there in late, and then writes to
// the summary. Both execute membar.sys before and after each of the last two stores. Every failing thread then exits.
// The record may lack values and indices that are 0, because the host clears all of them after it has read a
// record. Without a slot, reading the number is an access of invalid memory, which ends the context.
//
// Compiled kernels have no branch for late threads. These write another record, of which late is the flag.
//
// The host clears the summary before it reads the slots. If the flag of a fault is not visible by
// then, the thread will set the summary again afterwards. After the host has read a record, it sets the number to
// flag + 1. Until then, no thread writes another record.
//
// Launches that run concurrently can share a slot. Suppose that a launch ends while a thread of
// another launch is writing the record. The wait for the first launch then finds that late is at least the number,
// but no flag. It waits for the flag. Otherwise it would not return a fault although threads of its launch have failed.
package kernelfault
