package nvrtc

import (
	"fmt"
	"slices"
	"strings"
)

// Arch is an architecture to compile for, as in the option --gpu-architecture. A virtual
// architecture such as compute_75 produces PTX for every device of that capability or
// later. A real architecture such as sm_90 produces PTX and a cubin for devices of that
// capability. The suffixes a and f are passed to NVRTC unchecked.
type Arch string

// Virtual returns the architecture for PTX: compute_90 for 9, 0.
func Virtual(major, minor int) Arch { return Arch(fmt.Sprintf("compute_%d%d", major, minor)) }

// Real returns the architecture for a cubin: sm_90 for 9, 0.
func Real(major, minor int) Arch { return Arch(fmt.Sprintf("sm_%d%d", major, minor)) }

// IsReal reports whether compiling for a produces a cubin.
func (a Arch) IsReal() bool { return strings.HasPrefix(string(a), "sm_") }

// Archs returns the virtual architectures that the compiler supports, lowest first. It omits
// architectures with a suffix.
func (c *Compiler) Archs() []Arch {
	if !c.exists() {
		return nil
	}
	list := make([]Arch, len(c.archs))
	for i, a := range c.archs {
		list[i] = Virtual(int(a)/10, int(a)%10)
	}
	return list
}

// ArchFor returns the virtual architecture to compile for, so that a device of the given compute
// capability can run the PTX. This is the device's own architecture or, if the compiler does not
// support it, the highest lower one that it supports. If the device is too old for the compiler,
// the error lists the supported architectures.
func (c *Compiler) ArchFor(major, minor int) (Arch, error) {
	if !c.exists() {
		return "", aCompiler.Error(c == nil)
	}
	best := int32(-1)
	for _, a := range c.archs {
		if a <= int32(major*10+minor) {
			best = max(best, a)
		}
	}
	if best < 0 {
		return "", invalidf("NVRTC %s cannot compile for compute capability %d.%d: it knows %s; an older NVRTC can",
			c.release(), major, minor, c.archList())
	}
	return Virtual(int(best)/10, int(best)%10), nil
}

func (c *Compiler) archList() string {
	var names []string
	for _, a := range c.Archs() {
		names = append(names, string(a))
	}
	return strings.Join(names, ", ")
}

func (f *functions) supportedArchs() ([]int32, error) {
	n := new(int32)
	if c := callP(&f.archCount, ptrTo(n)); c != NVRTC_SUCCESS {
		return nil, &Error{Func: "nvrtcGetNumSupportedArchs", Code: c}
	}
	if *n <= 0 {
		return nil, nil
	}
	list := make([]int32, *n)
	if c := callP(&f.archs, ptrTo(&list[0])); c != NVRTC_SUCCESS {
		return nil, &Error{Func: "nvrtcGetSupportedArchs", Code: c}
	}
	slices.Sort(list)
	return list, nil
}
