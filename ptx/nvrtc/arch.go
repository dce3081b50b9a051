package nvrtc

import (
	"fmt"
	"slices"
	"strings"
)

// Arch is what is compiled for, as the option --gpu-architecture takes it: a
// virtual architecture such as compute_75, which gives PTX for every device from
// there on, or a real one such as sm_90, which gives a cubin for devices of that
// capability as well. The suffixes a and f are NVRTC's to judge.
type Arch string

// Virtual returns the architecture of PTX: compute_90 for 9, 0.
func Virtual(major, minor int) Arch { return Arch(fmt.Sprintf("compute_%d%d", major, minor)) }

// Real returns the architecture of a cubin: sm_90 for 9, 0.
func Real(major, minor int) Arch { return Arch(fmt.Sprintf("sm_%d%d", major, minor)) }

// IsReal reports whether compiling gives a cubin.
func (a Arch) IsReal() bool { return strings.HasPrefix(string(a), "sm_") }

// Archs lists the virtual architectures that the compiler knows, the lowest
// first, without those of a suffix.
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

// ArchFor returns the virtual architecture to compile for so that a device of
// the given compute capability can run the PTX: the device's own, or the highest
// below it that the compiler knows. The error says which there are if the device
// is too old for the compiler.
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

// supportedArchs asks NVRTC.
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
