package ptx

import (
	"math"
	"strconv"
)

type value struct {
	Kind ImmKind
	Bits uint64
}

// parseNumber parses a literal. PTX ISA, "Integer Constants" and "Floating-Point
// Constants".
func parseNumber(s string) (value, bool) {
	if len(s) > 1 && s[0] == '0' {
		switch s[1] {
		case 'x', 'X':
			return parseInteger(s[2:], 16)
		case 'b', 'B':
			return parseInteger(s[2:], 2)
		case 'f', 'F':
			v, err := strconv.ParseUint(s[2:], 16, 32)
			return value{ImmF32, v}, err == nil && len(s) == 10
		case 'd', 'D':
			v, err := strconv.ParseUint(s[2:], 16, 64)
			return value{ImmF64, v}, err == nil && len(s) == 18
		}
	}
	for i := range len(s) {
		if c := s[i]; c == '.' || c == 'e' || c == 'E' {
			f, err := strconv.ParseFloat(s, 64)
			return value{ImmF64, math.Float64bits(f)}, err == nil
		}
	}
	if len(s) > 1 && s[0] == '0' && s[1] != 'U' {
		return parseInteger(s[1:], 8)
	}
	return parseInteger(s, 10)
}

// parseInteger parses digits and the suffix U. A number that does not fit in an int64 is
// unsigned.
func parseInteger(s string, base uint64) (value, bool) {
	kind := ImmInt
	if n := len(s); n > 0 && s[n-1] == 'U' {
		kind, s = ImmUint, s[:n-1]
	}
	var v uint64
	for i := range len(s) {
		d := digit(s[i])
		next := v*base + d
		if d >= base || v > math.MaxUint64/base || next < v*base {
			return value{}, false
		}
		v = next
	}
	if v > math.MaxInt64 {
		kind = ImmUint
	}
	return value{kind, v}, s != ""
}

func digit(c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case c >= 'a' && c <= 'f':
		return uint64(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return uint64(c-'A') + 10
	}
	return math.MaxUint8
}

func (v value) isFloat() bool { return v.Kind >= ImmF32 }

func (v value) float() float64 { return (&Imm{Kind: v.Kind, Bits: v.Bits}).Float64() }

func (v value) isTrue() bool {
	if v.isFloat() {
		return v.float() != 0
	}
	return v.Bits != 0
}

func intValue(i int64) value     { return value{ImmInt, uint64(i)} }
func floatValue(f float64) value { return value{ImmF64, math.Float64bits(f)} }

func boolValue(b bool) value {
	if b {
		return intValue(1)
	}
	return intValue(0)
}
