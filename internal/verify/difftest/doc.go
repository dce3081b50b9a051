// Package difftest compares the emulator with a GPU for each instruction form. A form is an opcode
// with one choice of modifiers and types. Groups lists the forms. Each form becomes a kernel whose
// threads execute it on pairs of edge values and on seeded random values. The folder testdata
// contains the results of an H200, with a hash of the PTX and the operands that produced them. The
// tests generate the PTX itself from the table of forms.
//
// Exact forms must agree bit for bit, including NaNs. Approximate forms must be as close to the
// exact function as the ISA requires, on the emulator and on the GPU, and their NaNs must agree.
package difftest
