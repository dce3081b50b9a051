package image

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// Arch is an architecture that code is compiled for, such as sm_90, sm_90a or sm_100f. The zero
// Arch is an unknown architecture.
type Arch struct {
	Major, Minor int
	// Suffix is 'a' for code that only runs on this exact architecture, 'f' for code that only
	// runs on its family, and 0 for code without such a restriction.
	Suffix byte
}

// ParseArch parses a name such as "sm_90a", "compute_90a" or "90a".
func ParseArch(name string) (Arch, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(name, "sm_"), "compute_")
	var a Arch
	if n := len(digits); n > 0 && (digits[n-1] == 'a' || digits[n-1] == 'f') {
		a.Suffix, digits = digits[n-1], digits[:n-1]
	}
	number, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || number < 10 || digits[0] == '+' {
		return Arch{}, invalidf("%q is not an architecture; they are named like sm_90, sm_90a or sm_100f", name)
	}
	a.Major, a.Minor = int(number/10), int(number%10)
	return a, nil
}

// archOf converts an architecture's number in a binary, such as 90 for sm_90.
func archOf(number uint32, suffix byte) Arch {
	return Arch{int(number / 10), int(number % 10), suffix}
}

// String returns the name, such as "sm_90a".
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

func (a Arch) capability() string { return fmt.Sprintf("%d.%d", a.Major, a.Minor) }

func (a Arch) above(device Arch) bool {
	return a.Major > device.Major || a.Major == device.Major && a.Minor > device.Minor
}

// machineCodeFor returns why the device cannot run machine code for this architecture, or "" if it
// can or if the architecture is unknown. The code must be for the device's major version, and not
// for a newer minor version. Code with the suffix 'a' must be for exactly this architecture.
func (a Arch) machineCodeFor(device Arch) string {
	switch {
	case a == (Arch{}):
		return "" // only the driver can decide
	case a.Suffix == 'a' && (a.Major != device.Major || a.Minor != device.Minor):
		return fmt.Sprintf("machine code for %v runs on devices of compute capability %s only", a, a.capability())
	case a.Major != device.Major || a.above(device):
		return fmt.Sprintf("machine code for %v runs on devices from %s up to %d.9", a, a.capability(), a.Major)
	}
	return ""
}

// ptxFor returns why PTX for this architecture cannot be compiled for the device. It returns "" if
// it can, or if the architecture is unknown.
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

// rank orders the suffixes from general to specific.
func (a Arch) rank() int {
	switch a.Suffix {
	case 'a':
		return 2
	case 'f':
		return 1
	}
	return 0
}
