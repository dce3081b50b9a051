package num

import (
	"fmt"
	"strconv"
)

func text(f float32) string { return strconv.FormatFloat(float64(f), 'g', -1, 32) }

// String formats the value as strconv formats a float32.
//
//gpu:host
func (h F16) String() string { return text(h.Float32()) }

// String formats the value as strconv formats a float32.
//
//gpu:host
func (h BF16) String() string { return text(h.Float32()) }

// String formats the value as strconv formats a float32.
//
//gpu:host
func (h E4M3) String() string { return text(h.Float32()) }

// String formats the value as strconv formats a float32.
//
//gpu:host
func (h E5M2) String() string { return text(h.Float32()) }

// Format formats the value with the verbs and flags of a float32. The verb %#v prints Go syntax.
//
//gpu:host
func (h F16) Format(s fmt.State, verb rune) {
	format(s, verb, h.Float32(), "num.F16FromBits(%#04x)", h.bits)
}

// Format formats the value with the verbs and flags of a float32. The verb %#v prints Go syntax.
//
//gpu:host
func (h BF16) Format(s fmt.State, verb rune) {
	format(s, verb, h.Float32(), "num.BF16FromBits(%#04x)", h.bits)
}

// Format formats the value with the verbs and flags of a float32. The verb %#v prints Go syntax.
//
//gpu:host
func (h E4M3) Format(s fmt.State, verb rune) {
	format(s, verb, h.Float32(), "num.E4M3FromBits(%#02x)", h.bits)
}

// Format formats the value with the verbs and flags of a float32. The verb %#v prints Go syntax.
//
//gpu:host
func (h E5M2) Format(s fmt.State, verb rune) {
	format(s, verb, h.Float32(), "num.E5M2FromBits(%#02x)", h.bits)
}

func format(s fmt.State, verb rune, f float32, goSyntax string, bits any) {
	switch {
	case verb == 'v' && s.Flag('#'):
		fmt.Fprintf(s, goSyntax, bits)
	case verb == 's' || verb == 'q':
		fmt.Fprintf(s, fmt.FormatString(s, verb), text(f))
	default:
		fmt.Fprintf(s, fmt.FormatString(s, verb), f)
	}
}
