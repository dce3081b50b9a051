// Package lower translates the type-checked Go syntax of kernels to the intermediate
// representation.
//
// # Calls
//
// A call is inlined while its caller is lowered, from the syntax of the callee. Type parameters are
// replaced in the same step. Recursive functions, whether directly or indirectly recursive, and
// functions with the directive //gpu:noinline become functions of the module instead. The maximum
// depth of a recursion depends on the size of the thread's stack, which is 1 KiB unless the
// context's limit is raised. A GPU does not report a stack overflow as such.
//
// # Values known at compile time
//
// Function values, the dynamic types of interfaces, and the addresses of local variables are
// usually known at compile time. Calls of function literals and ranges over functions are therefore
// inlined like other calls, and a variable whose address is taken can still be in registers. It is
// an error if a function value or a dynamic type is only known at run time. If the address of a
// variable is only known at run time, the variable gets a slot in local memory.
//
// Lowering discovers such cases as it proceeds. If a variable turns out to need a slot, or a value
// turns out to change in a loop, the function is lowered again from the beginning.
package lower
