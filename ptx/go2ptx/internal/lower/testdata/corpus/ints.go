// Package corpus has functions that the tests of package lower run twice: compiled by Go, and
// compiled to the IR and interpreted.
package corpus

func Ints(a, b int) (int, int, int, int, int, int) {
	return a + b, a - b, a * b, a & b, a | b, a ^ b
}

func AndNot(a, b uint32) uint32 { return a&^b | ^a&b }

func Div(a, b int) (int, int)         { return a / b, a % b }
func Div32(a, b int32) (int32, int32) { return a / b, a % b }
func Div8(a, b int8) (int8, int8)     { return a / b, a % b }
func DivU(a, b uint) (uint, uint)     { return a / b, a % b }
func DivU8(a, b uint8) (uint8, uint8) { return a / b, a % b }
func DivConst(a int) (int, int, int)  { return a / 7, a % 7, a / -1 }
func Small(a, b int8) (int8, int8, int8, int8, int8) {
	return a + b, a - b, a * b, -a, ^a
}
func SmallU(a, b uint8) (uint8, uint8, uint8, uint8, uint8) {
	return a + b, a - b, a * b, -a, ^a
}
func Short(a, b int16) (int16, int16, int16)        { return a + b, a * b, a &^ b }
func ShortU(a, b uint16) (uint16, uint16, uint16)   { return a + b, a * b, a &^ b }
func Shift(a int, n uint) (int, int)                { return a << n, a >> n }
func Shift32(a int32, n uint8) (int32, int32)       { return a << n, a >> n }
func Shift8(a int8, n uint16) (int8, int8)          { return a << n, a >> n }
func ShiftU8(a uint8, n uint32) (uint8, uint8)      { return a << n, a >> n }
func ShiftU(a uint64, n uint64) (uint64, uint64)    { return a << n, a >> n }
func ShiftSigned(a uint64, n int) uint64            { return a << n }
func ShiftSigned8(a uint32, n int8) uint32          { a >>= n; return a }
func ShiftConst(a int32) (int32, int32, int32)      { return a << 3, a >> 31, a << 31 >> 31 }
func UntypedShift(n uint) (int64, uint8, float64)   { return 1 << n, 1 << n >> 2, float64(int(1) << n) }
func Compare(a, b int) (bool, bool, bool, bool)     { return a < b, a <= b, a > b, a == b }
func CompareU(a, b uint32) (bool, bool, bool, bool) { return a < b, a <= b, a >= b, a != b }
func MinMax(a, b, c int) (int, int)                 { return min(a, b, c), max(a, b, 3) }
func MinMaxU(a, b uint8) (uint8, uint8)             { return min(a, b), max(a, b) }

func Widths(a int64) (int8, uint8, int16, uint16, int32, uint32, uint, uintptr) {
	return int8(a), uint8(a), int16(a), uint16(a), int32(a), uint32(a), uint(a), uintptr(a)
}
func Widen(a int8, b uint8, c int16, d uint32, e int32) (int64, int64, uint64, int, uint16, int) {
	return int64(a), int64(b), uint64(c), int(d), uint16(a), int(e)
}

func Logic(a, b int) (bool, bool, bool) {
	return a > 0 && b > 0, a > 0 || b > 0, !(a > 0) != (b > 0)
}

func Guard(s []int, i int) bool { return i >= 0 && i < len(s) && s[i] > 0 || i == -5 }

func OpAssign(a, b int32, n uint) int32 {
	a += b
	a -= 3
	a *= b
	a |= 5
	a &^= 2
	a ^= b
	a <<= n
	a++
	b--
	if b != 0 {
		a %= b
	}
	return a
}
