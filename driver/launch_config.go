package driver

import "github.com/purecuda/cuda/driver/cu"

// LaunchConfig describes how to launch a kernel. Grid and Block are required.
type LaunchConfig struct {
	Grid      Dim3   // in blocks
	Block     Dim3   // in threads
	SharedMem uint32 // dynamic shared memory per block, in bytes

	// Cooperative makes all blocks run at the same time, so that they can wait for each other.
	Cooperative bool
	// Cluster is the size of a cluster in blocks. Zero means no cluster, or the one that the kernel
	// was compiled with. It requires compute capability 9.0.
	Cluster Dim3
	// Priority overrides the stream's priority unless it is 0. Lower numbers go first.
	Priority int
	// Programmatic lets the kernel start before the previous kernel in the stream has ended
	// (programmatic dependent launch). The kernel must wait with griddepcontrol for the results it
	// needs.
	Programmatic bool
	// Attributes are further launch attributes. They are passed on unchanged.
	Attributes []cu.CUlaunchAttribute
}

// same reports whether o describes the same launch. Configurations with raw attributes are never
// the same.
func (c *LaunchConfig) same(o *LaunchConfig) bool {
	return c.Grid == o.Grid && c.Block == o.Block && c.SharedMem == o.SharedMem &&
		c.Cooperative == o.Cooperative && c.Cluster == o.Cluster && c.Priority == o.Priority &&
		c.Programmatic == o.Programmatic && c.Attributes == nil && o.Attributes == nil
}

// plain reports whether there are no launch attributes.
func (c *LaunchConfig) plain() bool {
	return !c.Cooperative && c.Cluster.IsZero() && c.Priority == 0 && !c.Programmatic && c.Attributes == nil
}

// attributes appends the launch attributes to list.
func (c *LaunchConfig) attributes(list []cu.CUlaunchAttribute) []cu.CUlaunchAttribute {
	if c.Cooperative {
		a := cu.CUlaunchAttribute{Id: cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE}
		*a.Value.Cooperative() = 1
		list = append(list, a)
	}
	if !c.Cluster.IsZero() {
		a := cu.CUlaunchAttribute{Id: cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION}
		d := a.Value.ClusterDim()
		d.X, d.Y, d.Z = c.Cluster.X, c.Cluster.Y, c.Cluster.Z
		list = append(list, a)
	}
	if c.Priority != 0 {
		a := cu.CUlaunchAttribute{Id: cu.CU_LAUNCH_ATTRIBUTE_PRIORITY}
		*a.Value.Priority() = clamp32(c.Priority)
		list = append(list, a)
	}
	if c.Programmatic {
		a := cu.CUlaunchAttribute{Id: cu.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION}
		*a.Value.ProgrammaticStreamSerializationAllowed() = 1
		list = append(list, a)
	}
	return append(list, c.Attributes...)
}

// raw returns the configuration as the driver takes it, without a stream. attrs must outlive it.
func (c *LaunchConfig) raw(attrs []cu.CUlaunchAttribute) cu.CUlaunchConfig {
	r := cu.CUlaunchConfig{
		GridDimX: c.Grid.X, GridDimY: c.Grid.Y, GridDimZ: c.Grid.Z,
		BlockDimX: c.Block.X, BlockDimY: c.Block.Y, BlockDimZ: c.Block.Z,
		SharedMemBytes: c.SharedMem, NumAttrs: uint32(len(attrs)),
	}
	if len(attrs) > 0 {
		r.Attrs = &attrs[0]
	}
	return r
}
