package ptx

import (
	"fmt"
	"strings"
)

// Needs holds the requirements of PTX for the driver that compiles it and the device that
// runs it. They come from .version and .target. [Module.Needs] and [ModuleInfo.Needs]
// return them, and [Needs.Check] compares them with a driver and a device.
type Needs struct {
	Version     Version // zero if the module has no .version
	Target      Target  // the most demanding architecture; not valid if .target names none
	AddressSize int     // 32 or 64; 0 if not specified, in which case drivers assume their own size
	unknown     string  // a target that begins with sm_ but is not an architecture
}

// Needs returns the requirements of the module for the driver and the device.
func (m *Module) Needs() Needs { return needs(m.Version, m.Targets, m.AddressSize) }

// Needs returns the requirements of the module for the driver and the device.
func (m *ModuleInfo) Needs() Needs { return needs(m.Version, m.Targets, m.AddressSize) }

func needs(v Version, targets []string, addressSize int) Needs {
	n := Needs{Version: v, AddressSize: addressSize}
	for _, name := range targets {
		t, ok := ParseTarget(name)
		switch {
		case !ok && strings.HasPrefix(name, "sm_"):
			n.unknown = name
		case ok && (!n.Target.IsValid() || t.number() > n.Target.number() || t.number() == n.Target.number() && t.Scope > n.Target.Scope):
			n.Target = t
		}
	}
	return n
}

// Driver returns the CUDA version of the oldest driver that accepts the PTX, in
// cuDriverGetVersion's format: 12040 for 12.4. The second result is false for a PTX
// version unknown to this package.
func (n Needs) Driver() (cuda int, known bool) { return n.Version.CUDA() }

// String returns the requirements in one line.
func (n Needs) String() string {
	driver := "a driver that accepts PTX " + n.Version.String()
	if cuda, ok := n.Driver(); ok {
		driver = "a driver of CUDA " + cudaText(cuda) + " or newer"
	}
	if !n.Target.IsValid() {
		return driver
	}
	return driver + " and a device of " + n.Target.Devices()
}

// UnmetKind identifies the requirement that is not met.
type UnmetKind uint8

// The kinds of unmet requirements.
const (
	UnmetText    UnmetKind = iota // the header is invalid on any machine
	UnmetVersion                  // the driver is older than .version
	UnmetTarget                   // .target does not include the device
)

// UnmetError reports why a machine cannot load a module and suggests a remedy.
type UnmetError struct {
	Kind    UnmetKind
	Needs   Needs
	Problem string
	Advice  string
}

// Error returns the problem and the suggested remedy in one line.
func (e *UnmetError) Error() string {
	if e == nil {
		return "nothing is unmet"
	}
	return e.Problem + ": " + e.Advice
}

// Check reports whether a driver can compile the PTX for a device. cuda is the driver's CUDA
// version in cuDriverGetVersion's format (13000 for 13.0). major and minor are the device's compute
// capability. Check returns nil or an [*UnmetError]. A CUDA version of 0 skips the check of the
// driver, and a capability of 0.0 skips the check of the device.
//
// Check rejects only modules that certainly fail. It assumes that a driver newer than
// this package accepts every version, and that an unknown target follows the rule of its
// suffix. It does not examine instructions, which the driver's compiler checks.
func (n Needs) Check(cuda, major, minor int) error {
	for _, check := range []func(cuda, device int) *UnmetError{n.checkHeader, n.checkVersion, n.checkPair, n.checkTarget, n.checkAddresses} {
		if e := check(cuda, capability(major, minor)); e != nil {
			e.Needs = n
			return e
		}
	}
	return nil
}

func (n Needs) checkHeader(int, int) *UnmetError {
	switch {
	case n.Version == Version{}:
		return &UnmetError{Problem: "the text has no .version", Advice: "a module begins with .version, .target and .address_size"}
	case n.unknown != "":
		return &UnmetError{Problem: ".target " + n.unknown + " is not an architecture", Advice: "name one such as sm_80, sm_90a or sm_100f"}
	case !n.Target.IsValid():
		return &UnmetError{Problem: "the text has no .target with an architecture", Advice: "name one such as .target sm_70 after .version"}
	}
	return nil
}

func (n Needs) checkVersion(cuda, _ int) *UnmetError {
	if cuda == 0 {
		return nil
	}
	newest, listed := NewestFor(cuda)
	_, known := n.Version.CUDA()
	switch {
	case !newest.less(n.Version) && !known:
		return &UnmetError{Kind: UnmetVersion, Problem: "there is no PTX ISA " + n.Version.String(),
			Advice: "write an existing version in .version; this driver accepts up to " + newest.String()}
	case newest.less(n.Version) && listed:
		return n.tooNew(cuda, newest)
	}
	return nil
}

func (n Needs) tooNew(cuda int, newest Version) *UnmetError {
	install := "install a newer one"
	if need, ok := n.Driver(); ok {
		install = "install one of CUDA " + cudaText(need) + " or newer"
	}
	return &UnmetError{
		Kind: UnmetVersion,
		Problem: fmt.Sprintf("PTX %v is newer than the driver, which supports CUDA %s and accepts PTX up to %v",
			n.Version, cudaText(cuda), newest),
		Advice: fmt.Sprintf("%s, or compile with a toolkit of CUDA %s or older, or lower .version to %v if the text uses nothing newer",
			install, cudaText(cuda), newest),
	}
}

// checkPair checks that the module's PTX version includes its target. Each PTX version has its own
// list of targets. A driver may be more lenient and accept a target with an older .version.
func (n Needs) checkPair(cuda, _ int) *UnmetError {
	since, ok := n.Target.Since()
	_, listed := NewestFor(cuda)
	switch {
	case ok && n.Version.less(since):
		return &UnmetError{
			Problem: fmt.Sprintf("PTX %v has no target %v, which came with PTX %v", n.Version, n.Target, since),
			Advice:  fmt.Sprintf("raise .version to %v, which needs %v, or name an older .target", since, Needs{Version: since}),
		}
	case !ok && listed:
		return &UnmetError{
			Problem: fmt.Sprintf("there is no target %v in PTX %v", n.Target, n.Version),
			Advice:  "name an existing architecture, such as sm_80, sm_90a or sm_100f",
		}
	}
	return nil
}

func (n Needs) checkTarget(_, device int) *UnmetError {
	if device == 0 || n.Target.RunsOn(device/10, device%10) {
		return nil
	}
	return &UnmetError{
		Kind: UnmetTarget,
		Problem: fmt.Sprintf("code for %v runs on devices of %s, and this one has %s",
			n.Target, n.Target.Devices(), capabilityText(device)),
		Advice: n.targetAdvice(device),
	}
}

func (n Needs) targetAdvice(device int) string {
	own := renamed(device)
	portable := fmt.Sprintf("compile it for compute_%d or older (nvcc -arch=compute_%d)", own, own)
	if n.Target.Scope == Portable {
		return portable + ", or use a newer device"
	}
	return fmt.Sprintf("%s without the suffix %q if the text uses nothing %v, otherwise write code for this architecture and provide a variant for each",
		portable, n.Target.Scope.suffix(), n.Target.Scope)
}

// checkAddresses rejects 32-bit code for devices of capability 9.0 and later, because no compiler
// for these devices accepts it.
func (n Needs) checkAddresses(_, device int) *UnmetError {
	if n.AddressSize != 32 || device < capability(9, 0) {
		return nil
	}
	return &UnmetError{
		Kind:    UnmetTarget,
		Problem: fmt.Sprintf("code with .address_size 32 does not run on this device, which has compute capability %s", capabilityText(device)),
		Advice:  "compile it for 64 bits (nvcc -m64)",
	}
}

// cudaText returns "12.4" for 12040.
func cudaText(cuda int) string { return fmt.Sprintf("%d.%d", cuda/1000, cuda%1000/10) }
