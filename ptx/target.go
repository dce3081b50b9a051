package ptx

import (
	"strconv"
	"strings"
)

// Target is an architecture that .target names, such as sm_80, sm_90a or sm_100f.
type Target struct {
	Name         string // name as written in the text
	Major, Minor int    // compute capability, such as 9 and 0 for 9.0
	Scope        TargetScope
}

// TargetScope defines the devices on which code for a target runs. PTX ISA, ".target".
type TargetScope uint8

// The scopes of targets.
const (
	Portable       TargetScope = iota // as in sm_90: the named capability and every later one
	FamilySpecific                    // as in sm_100f: the named capability and later ones of its family
	ArchSpecific                      // as in sm_90a: only the named capability
)

// String returns "portable", "family-specific" or "architecture-specific".
func (s TargetScope) String() string {
	switch s {
	case FamilySpecific:
		return "family-specific"
	case ArchSpecific:
		return "architecture-specific"
	}
	return "portable"
}

func (s TargetScope) suffix() string { return [...]string{"", "f", "a"}[min(s, ArchSpecific)] }

// ParseTarget parses the name of an architecture. Like ptxas, it accepts compute_90 for
// sm_90. It returns false for other targets, such as debug.
func ParseTarget(name string) (Target, bool) {
	rest, ok := strings.CutPrefix(name, "sm_")
	if !ok {
		if rest, ok = strings.CutPrefix(name, "compute_"); !ok {
			return Target{}, false
		}
	}
	t := Target{Name: name}
	switch {
	case strings.HasSuffix(rest, "a"):
		t.Scope = ArchSpecific
	case strings.HasSuffix(rest, "f"):
		t.Scope = FamilySpecific
	}
	if t.Scope != Portable {
		rest = rest[:len(rest)-1]
	}
	n, err := strconv.ParseUint(rest, 10, 16)
	if err != nil || n < 10 {
		return Target{}, false
	}
	t.Major, t.Minor = int(n/10), int(n%10)
	return t, true
}

// IsValid reports whether t is an architecture. The zero Target is not valid.
func (t Target) IsValid() bool { return t.Major > 0 }

// String returns the name of the target as written. It composes a name for a Target
// created by a program.
func (t Target) String() string {
	if t.Name != "" || !t.IsValid() {
		return t.Name
	}
	return "sm_" + strconv.Itoa(t.Major) + strconv.Itoa(t.Minor) + t.Scope.suffix()
}

// RunsOn reports whether PTX for the target can be compiled for a device of the given
// compute capability.
func (t Target) RunsOn(major, minor int) bool {
	device, own := renamed(capability(major, minor)), renamed(t.number())
	switch t.Scope {
	case ArchSpecific:
		return device == own
	case FamilySpecific:
		return device >= own && device/10 == own/10
	}
	return max(device, capability(major, minor)) >= t.number()
}

// Devices describes in words the devices that the target runs on.
func (t Target) Devices() string {
	at := capabilityText(t.number())
	if renamed(t.number()) != t.number() {
		at += " (11.0 since CUDA 13.0)"
	}
	switch t.Scope {
	case ArchSpecific:
		return "compute capability " + at + " only"
	case FamilySpecific:
		return "compute capability " + at + " and later ones of its family (" + strconv.Itoa(renamed(t.number())/10) + ".x)"
	}
	return "compute capability " + at + " or newer"
}

// number returns the capability as a single number: 90 for 9.0.
func (t Target) number() int { return capability(t.Major, t.Minor) }

func capability(major, minor int) int { return 10*major + minor }

func capabilityText(n int) string { return strconv.Itoa(n/10) + "." + strconv.Itoa(n%10) }

// renamed maps capability 10.1 to 11.0, the number of that capability since PTX ISA 9.0.
func renamed(n int) int {
	if n == 101 {
		return 110
	}
	return n
}
