// Package isa describes the instructions of the PTX ISA: for each opcode its modifiers,
// types and operands, and the .version and .target that introduced them.
//
// [Check] applies these rules to a module. It reports what NVIDIA's compiler would refuse,
// with the line and the correct form. [Legal] checks one instruction, for programs that
// write PTX. [Forms] lists the rules.
//
// The rules follow the text's own .version and .target, never a device: a text for
// sm_60 may vote without .sync, a text of PTX 6.4 for sm_70 may not. They are complete
// for texts that ptxas of CUDA 12.4 accepts (PTX 8.4). Of later versions they cover
// what targets up to sm_90a can use. In a text for a newer target, an instruction that
// matches no rule is accepted, because the rules may not know it yet.
//
// PTX ISA, "Instruction Set": https://docs.nvidia.com/cuda/parallel-thread-execution/
package isa
