package gpu

// Shared returns a variable in shared memory. All threads of a block that execute the same call get
// the same variable, also when the call is in a loop or in a function that several callers use. In
// a generic function, each instance has its own variable. Under Run, calls for one type must be on
// different lines.
//
// The variable is not initialized. Under Run it contains a pattern that is a NaN in every
// floating-point format, unless T contains pointers or bools.
//
//gpu:intrinsic
func Shared[T any](t Thread) *T { return sharedVariable[T](t) }

// DynamicShared returns the dynamic shared memory of the block. Its size in bytes is the option
// shared of the directive, or SharedMem of driver.LaunchConfig. Under Run, it is the option
// SharedSize. All calls return the same memory. The length is the size divided by the size of T,
// which must not contain pointers.
//
//gpu:intrinsic
func DynamicShared[T any](t Thread) []T { return dynamicShared[T](t) }

// MapShared returns the address of p, a variable in shared memory, in the block of the cluster with
// the given rank (mapa). The blocks of a cluster may access each other's shared memory until one
// exits. ClusterSync before and after such accesses ensures this.
//
//gpu:intrinsic
func MapShared[T any](t Thread, p *T, rank int) *T { return mapShared(t, p, rank) }
