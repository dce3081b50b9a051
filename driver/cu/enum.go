package cu

import (
	"strconv"
	"strings"
)

// enumString returns name. If name is "", it returns the type and the number.
func enumString[T ~uint32 | ~int32](typ string, v T, name string) string {
	if name != "" {
		return name
	}
	return typ + "(" + strconv.FormatInt(int64(v), 10) + ")"
}

// flagsString returns the name of v. If v has no name, flagsString joins the names of its bits with
// "|". It adds all bits without a name as a single number.
func flagsString[T ~uint32](typ string, v T, name func(T) string) string {
	if s := name(v); s != "" {
		return s
	}
	var parts []string
	rest := v
	for bit := T(1); bit != 0 && rest != 0; bit <<= 1 {
		if v&bit == 0 {
			continue
		}
		if s := name(bit); s != "" {
			parts = append(parts, s)
			rest &^= bit
		}
	}
	if rest != 0 || len(parts) == 0 {
		parts = append(parts, typ+"(0x"+strconv.FormatUint(uint64(rest), 16)+")")
	}
	return strings.Join(parts, "|")
}
