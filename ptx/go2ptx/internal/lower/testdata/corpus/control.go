package corpus

func Collatz(n uint32) int {
	n &= 1023
	steps := 0
	for n > 1 {
		if n%2 == 0 {
			n /= 2
		} else {
			n = 3*n + 1
		}
		steps++
	}
	return steps
}

func Switch(n int) int {
	switch m := n % 7; m {
	case 0, 1:
		return 10
	case 2:
		n++
		fallthrough
	case 3:
		n += 5
	case -1:
		break
	default:
		n = -n
	}
	switch {
	case n > 100:
		return 1
	case n < -100:
		return 2
	}
	return n
}

func SwitchDefaultFirst(n int) int {
	switch n {
	default:
		return 1
	case 4:
		return 2
	}
}

func Labels(n int) int {
	t := 0
outer:
	for i := range 10 {
		for j := range 10 {
			switch {
			case i*j == n&31:
				break outer
			case j > i:
				continue outer
			}
			t += i + j
		}
	}
	return t
}

func Goto(n int) int {
	i := 0
	n &= 15
loop:
	if i < n {
		i += 2
		if i == 6 {
			goto done
		}
		goto loop
	}
	i = -i
done:
	return i
}

func RangeInts(n uint8) (int, uint8) {
	t, u := 0, uint8(0)
	for i := range 5 {
		t += i
	}
	for i := range n {
		u += i
	}
	for range n {
		t++
	}
	for i := range 3 * t {
		if i == 17 {
			break
		}
		t += i & 1
	}
	return t, u
}

func Fib(n uint) int { return fib(int(n & 15)) }

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func Even(n uint8) bool { return even(int(n)) }

func even(n int) bool {
	if n == 0 {
		return true
	}
	return odd(n - 1)
}

func odd(n int) bool {
	if n == 0 {
		return false
	}
	return even(n - 1)
}

func ackermann(m, n int, count *int) int {
	*count++
	if m == 0 {
		return n + 1
	}
	if n == 0 {
		return ackermann(m-1, 1, count)
	}
	return ackermann(m-1, ackermann(m, n-1, count), count)
}

func Ackermann(m, n uint8) (int, int) {
	count := 0
	return ackermann(int(m&1), int(n&7), &count), count
}

//gpu:noinline
func pair(a int8, b []int, c float32) (int, bool, float32) {
	if a > 0 && len(b) > 0 {
		b[0]++
	}
	return len(b) + int(a), a > 3, c * 2
}

func NoInline(a int8, s []int, c float32) (int, float32) {
	n, ok, f := pair(a, s, c)
	if ok {
		n = -n
	}
	return n, f
}

func Panic(n int) int {
	if n > 10 {
		panic("too large")
	}
	return n
}

func divmod(a, b int) (q, r int) {
	q = a / b
	r = a - q*b
	return
}

func Multi(a, b int) int {
	q, r := divmod(a, b)
	add := func(x, y int) int { return x + 2*y }
	return add(divmod(q, 3)) + r
}

func NamedResult(a int) (r int) {
	r = 5
	if a > 3 {
		return a
	}
	r += a
	return
}

func variadic(a int, rest ...int) int {
	for i, v := range rest {
		a += i * v
	}
	return a + len(rest)*100
}

func Variadic(a, b int, s []int) int {
	return variadic(a) + variadic(a, b, 3) + variadic(b, s...)
}

func IfElse(a, b int) int {
	if c := a - b; c > 0 {
		return 1
	} else if c < 0 {
		return 2
	} else {
		a = c + 3
	}
	return a
}

func Dead(a int) int {
	a &= 15
	for {
		if a > 5 {
			return a
		}
		a++
		continue
	}
}

func DoubleLoop(a []int8) (r int) {
	for i := 0; i < len(a); i++ {
		for j := i; j >= 0 && a[j] > 0; j-- {
			r += int(a[j])
		}
	}
	return
}
