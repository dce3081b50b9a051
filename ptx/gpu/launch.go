package gpu

// GridDependencySync waits until the preceding kernels of a programmatic dependent launch have
// finished and their writes are visible (griddepcontrol.wait). The field Programmatic of
// driver.LaunchConfig requests such a launch. Without such a launch, and under Run, the call does
// nothing. It requires sm_90.
//
//gpu:intrinsic
func (t Thread) GridDependencySync() {}

// GridLaunchDependents allows the next kernel of a programmatic dependent launch to start once all
// blocks have made the call or exited (griddepcontrol.launch_dependents). It requires sm_90.
// Without such a launch, and under Run, it does nothing.
//
//gpu:intrinsic
func (t Thread) GridLaunchDependents() {}

// Conditional is the handle of a conditional graph node. A kernel receives it as a parameter.
type Conditional uint64

// Set sets the value of the condition. The value determines whether the body of the node runs, how
// often it runs, or which of several bodies runs. Run does not simulate graphs: use the emulator.
//
//gpu:intrinsic
func (c Conditional) Set(t Thread, value uint32) {
	panic(useEmulator("Conditional.Set"))
}
