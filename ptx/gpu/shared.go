package gpu

// Shared returns a variable in shared memory. All threads of a block that execute the same call get
// the same variable, even if the call is in a loop or in a function with several callers. In a
// generic function, each instance has its own variable. Under Run, calls for the same type must be
// on different lines.
//
// The variable is not initialized. Under Run, it contains a pattern that is a NaN in every
// floating-point format, unless T contains pointers or bools.
//
//gpu:intrinsic
func Shared[T any](t Thread) *T { return sharedVariable[T](t) }

// DynamicShared returns the dynamic shared memory of the block. Its size in bytes is set by the
// option shared of the directive or by SharedMem of driver.LaunchConfig, and under Run by the
// option SharedSize. All calls return the same memory. The length of the slice is that size divided
// by the size of T. T must not contain pointers.
//
//gpu:intrinsic
func DynamicShared[T any](t Thread) []T { return dynamicShared[T](t) }

// MapShared returns the address of the corresponding shared variable in another block of the
// cluster, given its rank (mapa). p points to the calling block's own variable. The blocks of a
// cluster may access each other's shared memory as long as none of them has exited. ClusterSync
// before and after such accesses ensures this.
//
//gpu:intrinsic
func MapShared[T any](t Thread, p *T, rank int) *T { return mapShared(t, p, rank) }
