package emulator

// smLimits are the limits of one multiprocessor that depend on the compute capability (CUDA C++
// Programming Guide, table "Technical Specifications per Compute Capability").
type smLimits struct {
	threadsPerSM   int
	blocksPerSM    int
	sharedPerSM    int
	sharedOptin    int // the most that a block can opt in to by attribute
	sharedReserved int // reserved by the system in each block
	clusters       bool
}

func limitsOf(capability [2]int) smLimits {
	const kib = 1 << 10
	switch cc := capability[0]*10 + capability[1]; {
	case cc >= 120:
		return smLimits{1536, 24, 100 * kib, 99 * kib, kib, true}
	case cc >= 90:
		return smLimits{2048, 32, 228 * kib, 227 * kib, kib, true}
	case cc >= 89:
		return smLimits{1536, 24, 100 * kib, 99 * kib, kib, false}
	case cc >= 87:
		return smLimits{1536, 16, 164 * kib, 163 * kib, kib, false}
	case cc >= 86:
		return smLimits{1536, 16, 100 * kib, 99 * kib, kib, false}
	case cc >= 80:
		return smLimits{2048, 32, 164 * kib, 163 * kib, kib, false}
	case cc >= 75:
		return smLimits{1024, 16, 64 * kib, 64 * kib, 0, false}
	default:
		return smLimits{2048, 32, 96 * kib, 96 * kib, 0, false}
	}
}
