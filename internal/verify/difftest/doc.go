// Package difftest compares the emulator with a GPU, instruction form by
// instruction form. A form is an opcode with one choice of modifiers and
// types; Groups lists them. Each becomes a kernel of its own, whose threads
// execute it on operands that are edge values against edge values and seeded
// random ones. What an H200 answered is kept in testdata, together with a hash
// of the PTX and the operands that made it; the PTX itself is derived from the
// table again.
//
// Exact forms have to agree bit for bit, in NaNs too. Approximate forms have to be
// as near to the exact function as the ISA says, on the GPU too, and to give the
// same NaNs.
package difftest
