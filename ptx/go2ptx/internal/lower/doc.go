// Package lower compiles kernels from Go's syntax tree with types to the intermediate form.
//
// # Calls
//
// Calls are inlined while the caller is lowered, from the syntax of the callee. Type parameters
// are replaced in the same step. A function that calls itself, directly or through others, and a
// function with the directive //gpu:noinline become functions of the module. How deep a recursion
// may be depends on the stack of the thread, which is 1 KiB unless the context's limit is raised. A
// GPU does not report an overflow as such.
//
// # Values that are known while compiling
//
// Function values, the dynamic types of interfaces, and the addresses of local variables usually
// are known while the kernel is compiled. Calls of function literals and ranges over functions are
// therefore inlined like other calls, and a variable whose address is taken stays in registers. A
// function or interface that is only known when the kernel runs is an error. A variable whose
// address is only known then gets a slot in local memory.
//
// Lowering finds that out as it goes. If a variable must have a slot after all, or a value turns
// out to vary in a loop, the function is lowered again from the start.
package lower
