// Package difftest compares the emulator with a GPU, instruction form by instruction
// form. A form is an opcode with one choice of modifiers and types; Groups lists them.
// Each becomes a kernel, whose threads execute it on edge values against edge values
// and on seeded random values. The results of an H200 are in testdata, with a hash of
// the PTX and the operands that produced them. The PTX itself is generated again from
// the table.
//
// Exact forms must agree bit for bit, including NaNs. Approximate forms must be as
// close to the exact function as the ISA says, on the GPU too, and give the same NaNs.
package difftest
