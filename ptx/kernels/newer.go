package kernels

import (
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/launchers"
)

// newer is a file with kernels for devices since a compute capability: those of
// other files once more, with a suffix, made of instructions that older devices
// lack. They take the same arguments and give the same results.
type newer struct {
	source       source
	major, minor int
	suffix       string
	kernels      []string // without the suffix
}

// newest are such files; where several have a kernel the first is taken that
// suits the device.
var newest = []newer{{
	launchers.RowsSm80Module, 8, 0, "_sm80",
	[]string{"softmax_bf16", "rmsnorm_bf16", "layernorm_bf16"},
}}

// suited is where the device's best text of a kernel is, and its name there.
func (s source) suited(c *driver.Context, kernel string) (source, string, error) {
	for _, n := range newest {
		if !slices.Contains(n.kernels, kernel) {
			continue
		}
		major, minor, err := c.Device().ComputeCapability()
		if err != nil {
			return nil, "", err
		}
		if major > n.major || major == n.major && minor >= n.minor {
			return n.source, kernel + n.suffix, nil
		}
	}
	return s, kernel, nil
}
