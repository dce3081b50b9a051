// Package isa knows which instructions the PTX ISA has: for each opcode its
// modifiers, types and operands, and the .version and .target that brought them.
//
// [Check] applies these rules to a module and reports what NVIDIA's compiler
// would refuse, with the line and what would be right. [Legal] answers for one
// instruction, for programs that write PTX. [Forms] lists the rules.
//
// The rules follow the text's own .version and .target, never a device: a text
// for sm_60 may vote without .sync, one of PTX 6.4 for sm_70 may not. They are
// complete for texts that ptxas of CUDA 12.4 takes (PTX 8.4). Of what came
// later they have what targets up to sm_90a can use; an instruction of a text
// for a newer target that matches no rule is not refused, because the rules may
// not know it yet.
//
// PTX ISA, "Instruction Set": https://docs.nvidia.com/cuda/parallel-thread-execution/
package isa
