package randgo

import (
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/purecuda/cuda/ptx/gpu"
)

// R and P are types of parameters.
type R struct {
	U uint8
	V int64
}

type P struct {
	A int32
	B uint16
	C int8
	D uint64
	F float32
	G float64
	Q [3]int16
	R R
	E bool
}

// W is the type of a parameter that contains views of the inputs.
type W struct {
	A int8
	V gpu.View[int32]
	M gpu.View2D[float64]
	B int16
}

// Data is what a kernel reads and writes.
type Data struct {
	OI    []int64
	OF    []float64
	OG    []float32
	Cells []int32
	Wide  []uint64

	II []int32
	IL []int64
	IB []uint8
	IS []int16
	FS []float32
	FD []float64
	P  P
	N  int
	M  uint32
	X  float32
	Y  float64
}

var oddInts = []int64{0, 1, -1, 2, -2, math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxInt32, math.MaxUint32, -128, 127, 255, 256, 1 << 15, 1 << 16, 63, 64, 31, 32}

var oddFloats = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, math.Inf(1), math.Inf(-1), math.NaN(), 1e-45, -1e-42, 1e38, 3.4e38, 1e300, 5e-324, 1.5, 2.5, -0.5, 16777217, 2147483648, 1e19}

// NewData returns the inputs for a seed. The outputs are zero.
func NewData(seed uint64) *Data {
	r := rand.New(rand.NewPCG(seed, 77))
	i := func() int64 {
		switch r.IntN(4) {
		case 0:
			return oddInts[r.IntN(len(oddInts))]
		case 1:
			return int64(r.IntN(200) - 100)
		}
		return int64(r.Uint64())
	}
	f := func() float64 {
		switch r.IntN(4) {
		case 0:
			return oddFloats[r.IntN(len(oddFloats))]
		case 1:
			return float64(r.IntN(200)-100) / 4
		}
		return math.Ldexp(r.Float64()-0.5, r.IntN(80)-40)
	}
	d := &Data{OI: make([]int64, Threads*Ints), OF: make([]float64, Threads*Floats), OG: make([]float32, Threads*Floats), Cells: make([]int32, Cells), Wide: make([]uint64, Cells)}
	for range Inputs {
		d.II = append(d.II, int32(i()))
		d.IL = append(d.IL, i())
		d.IB = append(d.IB, uint8(i()))
		d.IS = append(d.IS, int16(i()))
		d.FS = append(d.FS, float32(f()))
		d.FD = append(d.FD, f())
	}
	d.II, d.IL, d.IB, d.IS, d.FS, d.FD = slices.Clip(d.II), slices.Clip(d.IL), slices.Clip(d.IB), slices.Clip(d.IS), slices.Clip(d.FS), slices.Clip(d.FD)
	d.P = P{int32(i()), uint16(i()), int8(i()), uint64(i()), float32(f()), f(), [3]int16{int16(i()), int16(i()), int16(i())}, R{uint8(i()), i()}, r.IntN(2) == 0}
	d.N, d.M, d.X, d.Y = r.IntN(120), uint32(i()), float32(f()), f()
	return d
}

// The views' matrix has Rows rows of Cols elements. The rows are Stride elements apart.
const (
	Rows   = 5
	Cols   = 7
	Stride = 9
)

// Views returns the parameter with the views, for use in plain Go.
func (d *Data) Views() W {
	return W{int8(d.N), gpu.ViewOf(d.II), gpu.View2DOf(d.FD, Rows, Cols, Stride), int16(d.M)}
}

// Outputs returns the bytes that a kernel has written, with all NaNs mapped to the same bits.
func (d *Data) Outputs() []byte {
	b := make([]byte, 0, len(d.OI)*8+len(d.OF)*8+len(d.OG)*4+len(d.Cells)*4+len(d.Wide)*8)
	for _, v := range d.OI {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	for _, v := range d.OF {
		if v != v {
			v = math.NaN()
		}
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	for _, v := range d.OG {
		if v != v {
			v = float32(math.NaN())
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	for _, v := range d.Cells {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	for _, v := range d.Wide {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// Result is the outcome of a kernel: its outputs, or a fault without outputs.
type Result struct {
	Fault   string // "line: text", or empty if there was no fault
	Outputs []byte
}

// WriteTo writes the result in a binary format in which each part is preceded by its length.
func (r Result) WriteTo(w io.Writer) (int64, error) {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(r.Fault)))
	b = append(b, r.Fault...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.Outputs)))
	n, err := w.Write(append(b, r.Outputs...))
	return int64(n), err
}

// ReadResult reads a result in the format of WriteTo.
func ReadResult(r io.Reader) (Result, error) {
	part := func() ([]byte, error) {
		var n [4]byte
		if _, err := io.ReadFull(r, n[:]); err != nil {
			return nil, err
		}
		b := make([]byte, binary.LittleEndian.Uint32(n[:]))
		_, err := io.ReadFull(r, b)
		return b, err
	}
	f, err := part()
	if err != nil {
		return Result{}, err
	}
	o, err := part()
	return Result{string(f), o}, err
}
