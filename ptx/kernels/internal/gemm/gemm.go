// Package gemm contains the kernel that multiplies matrices of float32.
package gemm

import "github.com/purecuda/cuda/ptx/gpu"

// With the pass siblings, the loop over products spills registers and takes a tenth more time.

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module -skip siblings

// A block computes a tile of c, Tile rows by Tile columns, and reads depth columns of a and rows of b at
// a time. A thread computes 8 rows by 8 columns, as four parts of 4 by 4.
const (
	Threads = 256
	Tile    = 128
	depth   = 8
	width   = Tile + 4 // of a row of shared memory: so that four stores down a column use different banks
	group   = 8        // rows of tiles that are computed together, so that they share columns of b in the cache
)

// The bits of the flags of Gemm.
const (
	TransposedA = 1 << iota
	TransposedB
	WideA // rows begin at multiples of 16 bytes
	WideB
	WideC
)

// Gemm computes c = alpha*a*b + beta*c, where a has m rows and k columns, and b has k rows and n columns.
// With TransposedA, memory contains a column of a where otherwise a row would be. If beta is 0, c is
// not read.
//
//gpu:kernel block=256 minblocks=2 name=gemm_f32
func Gemm(t gpu.Thread, dst, a, b, pitchC, pitchA, pitchB uint64, m, n, k uint32, alpha, beta float32, flags uint32) {
	as := gpu.Shared[[2 * depth * width]float32](t)
	bs := gpu.Shared[[2 * depth * width]float32](t)
	row, column := tileOf(uint32(t.BlockX()), (m+Tile-1)/Tile, (n+Tile-1)/Tile)
	row, column = row*Tile, column*Tile
	x := operandOf(t, a, int(pitchA), m, k, row, flags&TransposedA == 0, flags&WideA != 0)
	y := operandOf(t, b, int(pitchB), n, k, column, flags&TransposedB != 0, flags&WideB != 0)

	tid := t.ThreadX()
	// A warp computes 32 rows by 64 columns, with 4 by 8 threads.
	tr := tid/64*32 + tid%32/8*4
	tc := tid/32%2*64 + tid%8*4

	var sum [8][8]float32
	x.store(as[:], x.load())
	y.store(bs[:], y.load())
	t.Sync()
	half := 0
	for left := int32(k); left > 0; left -= depth {
		x.advance()
		y.advance()
		u, v := x.load(), y.load()
		pa, pb := as[half*depth*width+tr:], bs[half*depth*width+tc:]
		for p := range depth {
			a0, a1 := *(*[4]float32)(pa[p*width:]), *(*[4]float32)(pa[p*width+16:])
			b0, b1 := *(*[4]float32)(pb[p*width:]), *(*[4]float32)(pb[p*width+32:])
			for i := range 4 {
				for j := range 4 {
					sum[i][j] += a0[i] * b0[j]
					sum[i][j+4] += a0[i] * b1[j]
					sum[i+4][j] += a1[i] * b0[j]
					sum[i+4][j+4] += a1[i] * b1[j]
				}
			}
		}
		half ^= 1
		x.store(as[half*depth*width:], u)
		y.store(bs[half*depth*width:], v)
		t.Sync()
	}
	c := gpu.ViewAt[float32](dst, int(pitchC)*int(m)+int(n)).Slice()
	// The rows move through the first one, because registers have no index. Without a loop, this would be a third of the
	// kernel.
	//gpu:unroll 1
	for i := range uint32(8) {
		r := row + uint32(tr) + i/4*16 + i%4
		for j := range 2 {
			q := column + uint32(tc+32*j)
			have := int32(n) - int32(q)
			if r >= m {
				have = 0
			}
			store(c, int(r)*int(pitchC)+int(q), have, flags&WideC != 0, alpha, beta, sum[0][4*j:4*j+4])
		}
		for k := range 7 {
			sum[k] = sum[k+1]
		}
	}
}

// store adds beta times four elements of c to alpha times v, and stores the result. c has only so many
// elements.
func store(c []float32, at int, have int32, wide bool, alpha, beta float32, v []float32) {
	if wide && have >= 4 {
		storeWide(c, at, alpha, beta, v)
		return
	}
	c = c[at:]
	for i := range 4 {
		if have > int32(i) {
			store1(&c[i], beta, alpha*v[i])
		}
	}
}

func storeWide(c []float32, at int, alpha, beta float32, x []float32) {
	v := [4]float32{alpha * x[0], alpha * x[1], alpha * x[2], alpha * x[3]}
	if beta != 0 {
		old := *(*[4]float32)(c[at:])
		v = [4]float32{v[0] + beta*old[0], v[1] + beta*old[1], v[2] + beta*old[2], v[3] + beta*old[3]}
	}
	*(*[4]float32)(c[at:]) = v
}

func store1(c *float32, beta, v float32) {
	if beta != 0 {
		v += beta * *c
	}
	*c = v
}

// tileOf returns the tile of a block.
func tileOf(block, rows, columns uint32) (row, column uint32) {
	var first uint32
	if each := group * columns; each != 0 { // an empty matrix has one block
		first = block / each * group
	}
	high := max(min(rows-first, group), 1)
	block -= first * columns
	return first + block%high, block / high
}

// operand reads the part of a matrix that a block needs: Tile rows of a, or columns of b. A thread reads
// four elements at a time, along k or across it.
type operand struct {
	x      []float32
	at     int // index of the next element
	step   int // from one slab to the next
	left   int32
	across int32
	to     int // index in shared memory
	along  bool
	wide   bool
}

// operandOf returns an operand that begins at a row of a, or a column of b, of which there are n. along
// says that elements along k are contiguous.
func operandOf(t gpu.Thread, x uint64, pitch int, n, k, begin uint32, along, wide bool) operand {
	tid := t.ThreadX()
	o := operand{along: along, wide: wide}
	if along {
		i, p := tid/2, tid%2*4
		o.at, o.step = (int(begin)+i)*pitch+p, depth
		o.left, o.across = int32(k)-int32(p), int32(n)-int32(begin)-int32(i)
		o.to = p*width + i
		o.x = gpu.ViewAt[float32](x, int(n)*pitch+int(k)).Slice()
	} else {
		p, i := tid/32, tid%32*4
		o.at, o.step = p*pitch+int(begin)+i, depth*pitch
		o.left, o.across = int32(k)-int32(p), int32(n)-int32(begin)-int32(i)
		o.to = p*width + i
		o.x = gpu.ViewAt[float32](x, int(k)*pitch+int(n)).Slice()
	}
	return o
}

// load returns four elements. Elements outside of the matrix are 0.
func (o *operand) load() (v [4]float32) {
	have, other := o.left, o.across
	if !o.along {
		have, other = other, have
	}
	if other <= 0 {
		return v
	}
	if o.wide && have >= 4 {
		return *(*[4]float32)(o.x[o.at:])
	}
	x := o.x[o.at:]
	for i := range v {
		if have > int32(i) {
			v[i] = x[i]
		}
	}
	return v
}

func (o *operand) advance() {
	o.at += o.step
	o.left -= depth
}

// store stores four elements in shared memory, which has a row for each index along k.
func (o *operand) store(s []float32, v [4]float32) {
	if o.along {
		for i := range v {
			s[o.to+i*width] = v[i]
		}
		return
	}
	*(*[4]float32)(s[o.to:]) = v
}
