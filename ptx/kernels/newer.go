package kernels

import (
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/launchers"
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
func (n *newer) orOlder(s source, c *driver.Context, kernel kernelName) (source, kernelName, error) {
	if n == nil || !slices.ContainsFunc(n.kernels, kernel.is) {
		return s, kernel, nil
	}
	d, err := deviceOf(c)
	if err != nil {
		return nil, kernel, err
	}
	if d.major > n.major || d.major == n.major && d.minor >= n.minor {
		kernel[len(kernel)-1] = n.suffix
		return n.source, kernel, nil
	}
	return s, kernel, nil
}
