package gpu

// GridDependencySync waits until the kernels before this one in a programmatic dependent launch have
// finished and their writes are visible (griddepcontrol.wait). The field Programmatic of
// driver.LaunchConfig requests such a launch. Without one, and under Run, the call does nothing. It
// requires sm_90.
//
//gpu:intrinsic
func (t Thread) GridDependencySync() {}

// GridLaunchDependents lets the kernel after this one in a programmatic dependent launch start when
// all blocks have made the call or exited (griddepcontrol.launch_dependents). It requires sm_90.
// Without such a launch, and under Run, it does nothing.
//
//gpu:intrinsic
func (t Thread) GridLaunchDependents() {}

// Conditional is the handle of a conditional node of a graph. A kernel receives it as a parameter.
type Conditional uint64

// Set sets the value that decides whether, how often or which body of the node runs. Run does not
// simulate graphs: use the emulator.
//
//gpu:intrinsic
func (c Conditional) Set(t Thread, value uint32) {
	panic(useEmulator("Conditional.Set"))
}
