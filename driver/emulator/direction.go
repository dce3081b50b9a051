package emulator

import "github.com/purecuda/cuda/driver/emulator/internal/transfer"

// direction is the direction of a copy.
type direction int

const (
	onHost direction = iota
	toDevice
	fromDevice
	onDevice
	numDirections
)

// direction depends on where the two ends are. Page-locked memory counts as the host's, managed
// memory as the device's.
func (e *Emulator) direction(dst, src *transfer.Side) direction {
	switch to, from := e.onHost(dst), e.onHost(src); {
	case to && from:
		return onHost
	case to:
		return fromDevice
	case from:
		return toDevice
	}
	return onDevice
}

func (e *Emulator) onHost(p *transfer.Side) bool {
	if p.Host != nil || p.Staged != nil {
		return true
	}
	a := e.allocationAt(p.Addr + p.Offset(0, 0))
	return a != nil && a.isHost()
}
