package driver

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/purecuda/cuda/driver/cu"
)

// UUID identifies a GPU or a MIG partition.
type UUID [16]byte

func uuidOf(raw cu.CUuuid) UUID { return raw.Bytes }

// String returns the form that nvidia-smi and CUDA_VISIBLE_DEVICES use: "GPU-" and the groups. The
// prefix is the same for a partition.
func (u UUID) String() string {
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// ParseUUID parses the result of String. The prefix (GPU- or MIG-) may be missing.
func ParseUUID(s string) (UUID, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "GPU-"), "MIG-")
	b, err := hex.DecodeString(strings.ReplaceAll(digits, "-", ""))
	if err != nil || len(b) != len(UUID{}) {
		return UUID{}, fmt.Errorf("%q is not a device UUID, expected GPU- and 32 hexadecimal digits in groups of 8-4-4-4-12", s)
	}
	return UUID(b), nil
}

// DeviceByUUID returns the device with the given identifier.
func (d *Driver) DeviceByUUID(u UUID) (Device, error) {
	for dev, err := range d.Devices() {
		if err != nil {
			return Device{}, err
		}
		have, err := dev.UUID()
		if err != nil {
			return Device{}, err
		}
		if have == u {
			return dev, nil
		}
	}
	return Device{}, fmt.Errorf("no visible device has UUID %v: %w", u, CUDA_ERROR_INVALID_DEVICE)
}
