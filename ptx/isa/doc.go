// Package isa describes the instructions of the PTX ISA: for each opcode its modifiers,
// types and operands, and the .version and .target that introduced them.
//
// [Check] applies these rules to a module. It reports code that NVIDIA's compiler would
// reject, with the line and the correct form. [Legal] checks one instruction, for
// programs that generate PTX. [Forms] lists the rules.
//
// The rules depend on the module's own .version and .target, never on a device. For
// example, vote without .sync is valid in a module for sm_60, but not in PTX 6.4 for sm_70.
// The rules are complete for modules that ptxas from CUDA 12.4 accepts (PTX 8.4). For later
// versions they cover the features available up to sm_90a. In a module for a newer target,
// Check accepts an instruction that matches no rule, because the rules may lack it.
//
// PTX ISA, "Instruction Set": https://docs.nvidia.com/cuda/parallel-thread-execution/
package isa
