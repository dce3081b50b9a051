// Package build constructs PTX modules, for programs that generate kernels at run time and for
// compilers.
//
// A [Module] contains variables and functions. A [Func] is a kernel or a device function. Its
// method Op adds an instruction, given the PTX name and operands, which are registers, constants,
// addresses, symbols and vectors:
//
//	m := build.New(build.Config{})
//	k := m.Kernel("double")
//	x := k.Param("x", ptx.U64)
//	addr, v := k.Reg(ptx.B64), k.Reg(ptx.F32)
//	k.Op("ld.param.u64", addr, x.At(0))
//	k.Op("ld.global.f32", v, addr.At(0))
//	k.Op("add.rn.f32", v, v, v)
//	k.Op("st.global.f32", addr.At(0), v)
//	k.Op("ret")
//	text, err := m.Text()
//
// For arithmetic on Go's number types, [Value], [Pointer] and [Func.If] are more concise. Because a
// Value is an operand, both styles can be mixed in a kernel.
//
// # Errors
//
// No method panics or returns an error. The module collects the errors, and [Module.Build] returns
// them as [Errors]. Build checks every instruction, declaration and directive against the table of
// package isa. An error names the function and the instruction, and gives the correct form.
//
// # Version and target
//
// Build chooses the lowest .target and .version that the code needs: sm_52 and PTX 4.1 for simple
// arithmetic. [Config] raises or fixes them.
//
// # Order and names
//
// The same calls produce the same text. Registers and labels are numbered in the order of their
// creation. Build declares device functions before their first use, so functions may call each
// other in any order. A Module and its parts must not be used concurrently.
package build
