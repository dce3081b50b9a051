package vm

// Reserved shared memory: 1 KiB of each block that belongs to system software, such as cooperative
// groups that span several warps. A kernel that queries its address gets it after its own shared
// memory. Other kernels have none.

const (
	reservedBytes = 1024
	reservedUsed  = 0x120 // of them on an H200 with driver 580
	sharedUnit    = 128
)

// reservedStart returns where the reserved part begins after used bytes.
func reservedStart(used int) int { return (used + 15) &^ 15 }

// reservedRegister reads one of the registers about reserved shared memory.
func reservedRegister(name string) func(w *warp) uint32 {
	offset := map[string]uint32{
		"reserved_smem_offset_begin": 0, "reserved_smem_offset_end": reservedUsed,
		"reserved_smem_offset_0": 0, "reserved_smem_offset_1": 0,
	}
	if name == "reserved_smem_offset_cap" {
		return func(*warp) uint32 { return reservedBytes }
	}
	add, ok := offset[name]
	if !ok {
		return nil
	}
	return func(w *warp) uint32 { return uint32(w.cta.sharedRegion.Size) - reservedBytes + add }
}

// reservedShared returns the size of that part on the launch's device.
func (r *launchRun) reservedShared() uint32 {
	if r.opts.Device.ComputeCapability < 80 {
		return 0
	}
	return reservedBytes
}
