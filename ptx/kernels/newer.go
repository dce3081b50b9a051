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

// rowsSm80 is such a file. Only what makes the operations of its kernels may name
// it, because the linker keeps a file in every program in which a use of it is.
var rowsSm80 = &newer{
	launchers.RowsSm80Module, 8, 0, "_sm80",
	[]string{"softmax_bf16", "rmsnorm_bf16", "layernorm_bf16", "argmax_f16", "argmax_bf16"},
}

// softmaxSm90 and normSm90 have clusters of blocks for rows that are too long for one.
var (
	softmaxSm90 = &newer{launchers.SoftmaxSm90Module, 9, 0, "_sm90", []string{"softmax_f32", "softmax_f16", "softmax_bf16"}}
	normSm90    = &newer{
		launchers.NormSm90Module, 9, 0, "_sm90",
		[]string{"rmsnorm_f32", "rmsnorm_f16", "rmsnorm_bf16", "layernorm_f32", "layernorm_f16", "layernorm_bf16"},
	}
)

// orOlder is where the device's text of a kernel of s is, and its name there: in
// n, if that has it and suits the device. No n is fine.
func (n *newer) orOlder(s source, c *driver.Context, kernel string) (source, string, error) {
	if n == nil || !slices.Contains(n.kernels, kernel) {
		return s, kernel, nil
	}
	major, minor, err := c.Device().ComputeCapability()
	if err != nil {
		return nil, "", err
	}
	if major > n.major || major == n.major && minor >= n.minor {
		return n.source, kernel + n.suffix, nil
	}
	return s, kernel, nil
}
