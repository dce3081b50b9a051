package unary

import (
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
)

var names = [16]string{
	Neg: "neg", Abs: "abs", ReLU: "relu", Sqrt: "sqrt", Rsqrt: "rsqrt", Tanh: "tanh", Log: "log", GELU: "gelu",
	Exp: "exp", Sigmoid: "sigmoid", SiLU: "silu", GELUTanh: "gelutanh",
}

// Label returns the name of the function that the last argument selects, such as relu_f32. It is for
// driver.Kernel.SetLabel.
func Label(kernel string, args []unsafe.Pointer) string {
	f := *(*uint32)(args[len(args)-1])
	_, class, _ := strings.Cut(kernel, "_")
	if class == "half" {
		class = pack.Kind(f >> 4).String()
	}
	if name := names[f&15]; name != "" {
		return name + "_" + class
	}
	return ""
}
