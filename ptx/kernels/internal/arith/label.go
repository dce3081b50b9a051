package arith

import (
	"strings"
	"unsafe"
)

// Label returns the name of the operation that the last argument selects, such as add_f32. It is for
// driver.Kernel.SetLabel.
func Label(kernel string, args []unsafe.Pointer) string {
	op := *(*uint32)(args[len(args)-1])
	_, class, _ := strings.Cut(kernel, "_")
	names := [8]string{Add: "add", Sub: "sub", Mul: "mul", Div: "div", Max: "max", Min: "min"}
	if op&Swapped != 0 {
		names = [8]string{Sub: "subfrom", Div: "divinto"}
	}
	name := names[op&7]
	if name == "" {
		return ""
	}
	switch class {
	case "half":
		class = kindOf(op).String()
	case "b32", "b64":
		kind := "i"
		if op&Float != 0 {
			kind = "f"
		} else if op&Unsigned != 0 {
			kind = "u"
		}
		class = kind + class[1:]
	}
	if op&Scalar != 0 {
		name += "_scalar"
	}
	return name + "_" + class
}
