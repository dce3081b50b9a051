package corpus

type point struct {
	X, Y float32
	N    int8
	Tag  [3]uint16
}

type line struct {
	A, B point
	W    int
}

func Sum(s []int32) int32 {
	var t int32
	for _, v := range s {
		t += v
	}
	return t
}

func Index(s []int16, i int) int16       { return s[i] }
func IndexU(s []int16, i uint64) int16   { return s[i] }
func IndexSmall(s []int16, i int8) int16 { return s[i] }
func Set(s []uint8, i int, v uint8)      { s[i] = v; s[0]++ }

func SliceOf(s []int, a, b int) (int, int, int) {
	t := s[a:b]
	return len(t), cap(t), t[0]
}
func Slice3(s []int, a, b, c int) (int, int, int) {
	t := s[a:b:c]
	u := t[:cap(t)]
	return len(t), cap(t), len(u)
}
func SliceTail(s []int, a int) int { s = s[a:]; return len(s) }
func SliceHead(s []int, a int) int { s = s[:a]; return len(s) }
func Reslice(s []int) int {
	t := 0
	for len(s) > 0 {
		t = t*3 + s[0]
		s = s[1:]
	}
	return t
}

func Structs(a float32, n int8) (float32, int8, uint16, float32) {
	p := point{X: a, N: n, Tag: [3]uint16{1, 2, 3}}
	q := p
	q.X++
	q.Tag[1] = 7
	l := line{p, q, 4}
	l.B.Y = 9
	m := l
	m.A.N--
	return m.B.X, m.A.N, m.B.Tag[1] + l.A.Tag[1], m.B.Y
}

func StructEqual(a, b float32, n int8) (bool, bool) {
	p, q := point{X: a, N: n}, point{X: b, N: n}
	return p == q, p != point{X: a, N: n}
}

func Arrays(i, j int, v int32) (int32, int) {
	var a [8]int32
	for k := range a {
		a[k] = int32(k * k)
	}
	a[i] = v
	b := a
	b[j] += 100
	return a[j] + b[i], len(b)
}

func ArrayEqual(x, y int) bool {
	a, b := [3]int{x, y, 1}, [3]int{y, x, 1}
	return a == b
}

func ArrayConst(x int) int {
	a := [...]int{5: x, 1, 0: 3}
	return a[0] + a[5]*10 + a[6]*100 + len(a)
}

func Matrix(n int) int {
	var m [3][4]int
	for i := range m {
		for j := range m[i] {
			m[i][j] = i*10 + j
		}
	}
	r := 0
	for _, row := range m {
		for _, v := range row {
			r = r*7 + v
		}
	}
	return r + m[n&1][2]
}

func Big(i int, v int) int {
	var a [300]int
	for k := range a {
		a[k] = k
	}
	b := a
	a[i] = v
	c := &a
	return a[i]*1000 + b[i] + c[299] + len(c)
}

func RangeCopy() int {
	a := [4]int{1, 2, 3, 4}
	t := 0
	for i, v := range a {
		a[3] = 10
		t += v * i
	}
	for i, v := range &a {
		a[3] = 20
		t += v * i
	}
	return t
}

func swap(a, b *int) { *a, *b = *b, *a }

func Pointers(x, y int) (int, int) {
	swap(&x, &y)
	p := &x
	*p += 5
	pp := &p
	**pp *= 2
	return x, y
}

func PointerChoice(x, y int, c bool) (int, int) {
	p := &x
	if c {
		p = &y
	}
	*p = 99
	return x, y
}

func PointerField(a float32) float32 {
	l := &line{}
	l.A.X = a
	q := &l.A
	q.Y = 3
	return l.A.X + l.A.Y
}

func NilPointer(c bool) int {
	var p *int
	x := 3
	if c {
		p = &x
	}
	return *p
}

func PointerElem(s []int, i int) int {
	p := &s[i]
	*p += 2
	return *p + s[i]
}

func Make(n int) int {
	s := make([]int, 4, 10)
	s[n&3] = 5
	s = s[:6]
	s[5] = 7
	t := []int{n, 2, 3}
	copy(s[1:], t)
	clear(s[4:])
	return s[0] + s[1]*10 + s[2]*100 + s[5] + len(s)*1000 + cap(s)*10000 + t[n&1]
}

func New(x int) int {
	p := new(int)
	*p = x
	q := new(line)
	q.W = *p * 2
	return *p + q.W
}

func Copy(s []int32, a, b int) int { return copy(s[a:], s[b:]) }
func Clear(s []point)              { clear(s) }
func CopyStruct(s []point, i, j int) {
	s[i], s[j] = s[j], s[i]
	s[0].Tag[2]++
}

func ArrayPointer(s []int32) int32 {
	a := (*[4]int32)(s)
	a[1] = 5
	b := [2]int32(s[1:])
	return a[0] + b[0] + b[1]
}

func Vector(s []float32) {
	a := *(*[4]float32)(s)
	a[0], a[3] = a[3], a[0]
	*(*[4]float32)(s) = a
}

func SliceOfSlice(s []int) int {
	var a [5]int
	t := a[1:4]
	copy(t, s)
	t[0]++
	return a[1]*100 + a[2]*10 + a[3] + len(t) + cap(t)
}

func NilSlice(s []int, n int) (bool, bool, int) {
	var t []int
	if n > 3 {
		t = s
	}
	return t == nil, s[:0] == nil, len(t)
}

func Swap(s []int) {
	if len(s) > 2 {
		i := 0
		i, s[i] = 2, 9
		s[i], s[0], s[1] = s[0], s[1], s[i]
	}
}
