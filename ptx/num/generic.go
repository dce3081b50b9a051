package num

import "math"

// Float lists the floating-point types that support arithmetic: .f16, .bf16, .f32 and .f64 in PTX.
type Float interface {
	F16 | BF16 | float32 | float64
}

// Number lists the numeric types that To converts from and to.
type Number interface {
	int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64 | uint | Float | E4M3 | E5M2
}

// Add returns a+b.
func Add[T Float](a, b T) T {
	switch p := any(&a).(type) {
	case *F16:
		*p = p.Add(*any(&b).(*F16))
	case *BF16:
		*p = p.Add(*any(&b).(*BF16))
	case *float32:
		*p += *any(&b).(*float32)
	case *float64:
		*p += *any(&b).(*float64)
	}
	return a
}

// Sub returns a-b.
func Sub[T Float](a, b T) T {
	switch p := any(&a).(type) {
	case *F16:
		*p = p.Sub(*any(&b).(*F16))
	case *BF16:
		*p = p.Sub(*any(&b).(*BF16))
	case *float32:
		*p -= *any(&b).(*float32)
	case *float64:
		*p -= *any(&b).(*float64)
	}
	return a
}

// Mul returns a*b. The compiler does not fuse it with a following Add.
func Mul[T Float](a, b T) T {
	switch p := any(&a).(type) {
	case *F16:
		*p = p.Mul(*any(&b).(*F16))
	case *BF16:
		*p = p.Mul(*any(&b).(*BF16))
	case *float32:
		*p = float32(*p * *any(&b).(*float32))
	case *float64:
		*p = float64(*p * *any(&b).(*float64))
	}
	return a
}

// Div returns a/b.
func Div[T Float](a, b T) T {
	switch p := any(&a).(type) {
	case *F16:
		*p = p.Div(*any(&b).(*F16))
	case *BF16:
		*p = p.Div(*any(&b).(*BF16))
	case *float32:
		*p /= *any(&b).(*float32)
	case *float64:
		*p /= *any(&b).(*float64)
	}
	return a
}

// FMA returns a*b+c, rounded once.
func FMA[T Float](a, b, c T) T {
	switch p := any(&a).(type) {
	case *F16:
		*p = p.FMA(*any(&b).(*F16), *any(&c).(*F16))
	case *BF16:
		*p = p.FMA(*any(&b).(*BF16), *any(&c).(*BF16))
	case *float32:
		*p = fmaFloat32(*p, *any(&b).(*float32), *any(&c).(*float32))
	case *float64:
		*p = math.FMA(*p, *any(&b).(*float64), *any(&c).(*float64))
	}
	return a
}

// Sqrt returns the square root of a.
func Sqrt[T Float](a T) T {
	switch p := any(&a).(type) {
	case *F16:
		*p = p.Sqrt()
	case *BF16:
		*p = p.Sqrt()
	case *float32:
		*p = float32(math.Sqrt(float64(*p)))
	case *float64:
		*p = math.Sqrt(*p)
	}
	return a
}

// Neg returns -a.
func Neg[T Float](a T) T {
	switch p := any(&a).(type) {
	case *F16:
		*p = p.Neg()
	case *BF16:
		*p = p.Neg()
	case *float32:
		*p = -*p
	case *float64:
		*p = -*p
	}
	return a
}

// Abs returns the magnitude of a.
func Abs[T Float](a T) T {
	switch p := any(&a).(type) {
	case *F16:
		*p = p.Abs()
	case *BF16:
		*p = p.Abs()
	case *float32:
		*p = float32(math.Abs(float64(*p)))
	case *float64:
		*p = math.Abs(*p)
	}
	return a
}

// Min returns the smaller number, or the other operand if one is a NaN. Go's min returns the NaN.
func Min[T Float](a, b T) T {
	switch p := any(&a).(type) {
	case *F16:
		*p = p.Min(*any(&b).(*F16))
	case *BF16:
		*p = p.Min(*any(&b).(*BF16))
	case *float32:
		*p = minNum(*p, *any(&b).(*float32))
	case *float64:
		*p = minNum(*p, *any(&b).(*float64))
	}
	return a
}

// Max returns the larger number, or the other operand if one is a NaN. Go's max returns the NaN.
func Max[T Float](a, b T) T {
	switch p := any(&a).(type) {
	case *F16:
		*p = p.Max(*any(&b).(*F16))
	case *BF16:
		*p = p.Max(*any(&b).(*BF16))
	case *float32:
		*p = maxNum(*p, *any(&b).(*float32))
	case *float64:
		*p = maxNum(*p, *any(&b).(*float64))
	}
	return a
}

func minNum[T float32 | float64](a, b T) T {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return min(a, b)
}

func maxNum[T float32 | float64](a, b T) T {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return max(a, b)
}

// Less reports whether a < b. It is false if an operand is a NaN.
func Less[T Float | E4M3 | E5M2](a, b T) bool { return value(a) < value(b) }

// LessEqual reports whether a <= b. It is false if an operand is a NaN.
func LessEqual[T Float | E4M3 | E5M2](a, b T) bool { return value(a) <= value(b) }

// Equal reports whether a and b are equal numbers. It is false if an operand is a NaN.
func Equal[T Float | E4M3 | E5M2](a, b T) bool { return value(a) == value(b) }

// IsNaN reports whether a is not a number.
func IsNaN[T Float | E4M3 | E5M2](a T) bool { v := value(a); return v != v }

// IsInf reports whether a is an infinity: positive if sign > 0, negative if sign < 0, either if
// sign is 0.
func IsInf[T Float | E5M2](a T, sign int) bool { return math.IsInf(value(a), sign) }

// Inf returns positive infinity if sign >= 0, and negative infinity if sign < 0.
func Inf[T Float](sign int) T { return To[T](math.Inf(sign)) }

// NaN returns a NaN of type T.
func NaN[T Float | E4M3 | E5M2]() T { return To[T](math.NaN()) }

// value returns the value of a, which float64 represents exactly.
func value[T Float | E4M3 | E5M2](a T) float64 {
	switch p := any(&a).(type) {
	case *F16:
		return p.Float64()
	case *BF16:
		return p.Float64()
	case *E4M3:
		return p.Float64()
	case *E5M2:
		return p.Float64()
	case *float32:
		return float64(*p)
	case *float64:
		return *p
	}
	return 0
}

// To converts x to type T. If T is a floating-point type, it rounds once, to nearest with ties to
// even. If T is an integer type, it rounds toward zero, limits the result to the range of T, and
// converts a NaN to 0.
func To[T, F Number](x F) T {
	var y T
	switch p := any(&y).(type) {
	case *F16:
		*p = F16FromFloat64(odd(x))
	case *BF16:
		*p = BF16FromFloat64(odd(x))
	case *E4M3:
		*p = E4M3FromFloat64(odd(x))
	case *E5M2:
		*p = E5M2FromFloat64(odd(x))
	case *float32:
		*p = float32(odd(x))
	case *float64:
		*p = float64Of(x)
	case *int8:
		*p = int8(limit(x, math.MinInt8, math.MaxInt8))
	case *int16:
		*p = int16(limit(x, math.MinInt16, math.MaxInt16))
	case *int32:
		*p = int32(limit(x, math.MinInt32, math.MaxInt32))
	case *int64:
		*p = limit(x, math.MinInt64, math.MaxInt64)
	case *int:
		*p = int(limit(x, math.MinInt, math.MaxInt))
	case *uint8:
		*p = uint8(limitUint(x, math.MaxUint8))
	case *uint16:
		*p = uint16(limitUint(x, math.MaxUint16))
	case *uint32:
		*p = uint32(limitUint(x, math.MaxUint32))
	case *uint64:
		*p = limitUint(x, math.MaxUint64)
	case *uint:
		*p = uint(limitUint(x, math.MaxUint))
	}
	return y
}

// odd returns x rounded to odd. Only integers above 2^53 are not exact.
func odd[F Number](x F) float64 {
	if i, u, ok := integer(x); ok {
		if i < 0 {
			return oddInt(i)
		}
		return oddUint(u)
	}
	return float64Of(x)
}

// integer returns the value of an integer. A negative value is returned in i. Any other value is
// returned in u, and i is then not negative. If x is not an integer type, ok is false.
func integer[F Number](x F) (i int64, u uint64, ok bool) {
	switch p := any(&x).(type) {
	case *int8:
		i = int64(*p)
	case *int16:
		i = int64(*p)
	case *int32:
		i = int64(*p)
	case *int64:
		i = *p
	case *int:
		i = int64(*p)
	case *uint8:
		return 0, uint64(*p), true
	case *uint16:
		return 0, uint64(*p), true
	case *uint32:
		return 0, uint64(*p), true
	case *uint64:
		return 0, *p, true
	case *uint:
		return 0, uint64(*p), true
	default:
		return 0, 0, false
	}
	return i, uint64(max(i, 0)), true
}

// float64Of returns x rounded to nearest. Only integers above 2^53 are not exact.
func float64Of[F Number](x F) float64 {
	switch p := any(&x).(type) {
	case *F16:
		return p.Float64()
	case *BF16:
		return p.Float64()
	case *E4M3:
		return p.Float64()
	case *E5M2:
		return p.Float64()
	case *float32:
		return float64(*p)
	case *float64:
		return *p
	}
	i, u, _ := integer(x)
	if i < 0 {
		return float64(i)
	}
	return float64(u)
}

// limit rounds x toward zero and limits it to a range. A NaN becomes 0.
func limit[F Number](x F, low, high int64) int64 {
	if i, u, ok := integer(x); ok {
		if i < 0 {
			return max(i, low)
		}
		return int64(min(u, uint64(high)))
	}
	switch f := float64Of(x); {
	case f != f:
		return 0
	case f <= float64(low):
		return low
	case f >= float64(high): // 2^63 if high is the largest int64
		return high
	default:
		return int64(f)
	}
}

// limitUint is like limit, but the range begins at 0 and high is unsigned.
func limitUint[F Number](x F, high uint64) uint64 {
	if i, u, ok := integer(x); ok {
		if i < 0 {
			return 0
		}
		return min(u, high)
	}
	switch f := float64Of(x); {
	case f != f || f <= 0:
		return 0
	case f >= float64(high): // 2^64 if high is the largest uint64
		return high
	default:
		return uint64(f)
	}
}
