// Package kernelfault receives the faults of kernels: failed checks that compiled kernels record
// instead of trapping. Package driver uses it for every module that it loads and every wait.
//
// # Protocol
//
// A module with checks has the variables
//
//	.weak .global .align 8 .u64 __purecuda_fault;
//	.weak .global .align 4 .u32 __purecuda_claim;
//
// After loading a module, the host stores the device address of a [Slot] in __purecuda_fault. Slots
// are in page-locked memory of the context, mapped for the device. A slot has 128 bytes, little
// endian:
//
//	+0   u32     flag
//	+4   u32     epoch, which only the host writes
//	+8   u64     device address of the context's summary word, a u32
//	+16  u64     device address of the site
//	+24  i64[3]  values, such as the index and the length
//	+48  u32[3]  block index
//	+60  u32[3]  thread index
//	+72  u32     claimed, which only late threads write
//	+76  zero
//
// A site is a .global array of the module: a u32 with the length of the text, then the text. NULs
// separate its fields: kind, function, file, line, column, message. The line and the column are
// decimal.
//
// A failing thread traps if __purecuda_fault is 0. Otherwise it reads the epoch e (ld.volatile) and
// claims the slot: it raises __purecuda_claim to e+1 with an atomic. The thread that raised it
// writes the record, then flag = e+1, then summary = 1, with membar.sys before, between and after
// the last two stores. A late thread, which did not raise it, stores the value that it found there
// in claimed, then summary = 1, with membar.sys between and after the stores. Every failing thread
// then exits.
//
// The host clears the summary before it looks at the slots. A fault whose flag is not visible yet
// therefore sets the summary again. After it has read the record, the host sets epoch = flag. Until
// then, no thread writes another record.
//
// Launches that run at the same time can share a slot. If a launch ends while a thread of another
// one writes the record, its wait finds claimed after epoch, but no flag. It waits for the flag.
// Otherwise it would not return a fault, although threads of its launch have failed.
package kernelfault
