package driver

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// Arch is an architecture that code is made for, as compilers name it: sm_90,
// sm_90a, sm_100f. The zero Arch is an unknown one.
type Arch struct {
	Major, Minor int
	// Suffix is 'a' for code that uses what only this very architecture has,
	// 'f' for code that uses what its family has, 0 for neither.
	Suffix byte
}

// ParseArch reads "sm_90a", "compute_90a" or "90a".
func ParseArch(name string) (Arch, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(name, "sm_"), "compute_")
	var a Arch
	if n := len(digits); n > 0 && (digits[n-1] == 'a' || digits[n-1] == 'f') {
		a.Suffix, digits = digits[n-1], digits[:n-1]
	}
	number, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || number < 10 || digits[0] == '+' {
		return Arch{}, invalidf("%q is no architecture; they are named like sm_90, sm_90a or sm_100f", name)
	}
	a.Major, a.Minor = int(number/10), int(number%10)
	return a, nil
}

// archOf is the architecture with the number that binaries have it by.
func archOf(number uint32, suffix byte) Arch {
	return Arch{int(number / 10), int(number % 10), suffix}
}

// String is the name: "sm_90a".
func (a Arch) String() string {
	if a == (Arch{}) {
		return "an unknown architecture"
	}
	s := fmt.Sprintf("sm_%d%d", a.Major, a.Minor)
	if a.Suffix != 0 {
		s += string(rune(a.Suffix))
	}
	return s
}

// capability writes the device's side of an architecture: "9.0".
func (a Arch) capability() string { return fmt.Sprintf("%d.%d", a.Major, a.Minor) }

// above reports whether a is newer than device.
func (a Arch) above(device Arch) bool {
	return a.Major > device.Major || a.Major == device.Major && a.Minor > device.Minor
}

// machineCodeFor says why a device cannot run machine code for a, "" if it can:
// code of the same major version that is not newer, and with the suffix a only
// code for exactly the device.
func (a Arch) machineCodeFor(device Arch) string {
	switch {
	case a == (Arch{}):
		return "" // for the driver to say
	case a.Suffix == 'a' && (a.Major != device.Major || a.Minor != device.Minor):
		return fmt.Sprintf("machine code for %v runs on devices of compute capability %s only", a, a.capability())
	case a.Major != device.Major || a.above(device):
		return fmt.Sprintf("machine code for %v runs on devices from %s up to %d.9", a, a.capability(), a.Major)
	}
	return ""
}

// ptxFor says why PTX for a cannot be compiled for a device, "" if it can.
func (a Arch) ptxFor(device Arch) string {
	if a == (Arch{}) {
		return ""
	}
	t, _ := ptx.ParseTarget(a.String())
	if t.RunsOn(device.Major, device.Minor) {
		return ""
	}
	return fmt.Sprintf("PTX for %v compiles for devices of %s", a, t.Devices())
}
