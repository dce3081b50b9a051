package difftest_test

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/internal/verify/difftest"
)

// answered returns an answer for a form, with the results that result computes from the operands.
func answered(f *difftest.Form, result func(a []uint64) uint64) difftest.Answer {
	a := difftest.Answer{Operands: f.Operands()}
	n := len(f.In)
	for i := range difftest.Tuples {
		a.Results = append(a.Results, result(a.Operands[i*n:i*n+n]))
	}
	return a
}

func TestAnyChangedBitOfAResultIsFound(t *testing.T) {
	f := difftest.Form{Name: "add", In: []string{"u32", "u32"}, Out: []string{"u32"}}
	a := answered(&f, func(in []uint64) uint64 { return uint64(uint32(in[0] + in[1])) })
	r := difftest.NewRecord(&f, a)
	if s := f.Difference(&r, a); s != "" {
		t.Fatalf("equal answers differ: %s", s)
	}
	for _, i := range []int{0, difftest.Kept - 1, difftest.Kept, difftest.Tuples - 1} {
		a.Results[i] ^= 1 << 31
		if f.Difference(&r, a) == "" {
			t.Errorf("a changed result %d is not found", i)
		}
		a.Results[i] ^= 1 << 31
	}
}

func TestAnotherNaNIsADifference(t *testing.T) {
	for name, nan := range map[string]uint64{"f32": 0x7fc00000, "f64": 0x7ff8000000000000, "f16x2": 0x7e003c00} {
		for _, bound := range []*difftest.Bound{nil, {Exact: func([]float64) float64 { return math.NaN() }}} {
			f := difftest.Form{Name: "nan", In: []string{"u32"}, Out: []string{name}, Bound: bound}
			is := func(x uint64) difftest.Answer { return answered(&f, func([]uint64) uint64 { return x }) }
			r := difftest.NewRecord(&f, is(nan))
			if s := f.Difference(&r, is(nan)); s != "" {
				t.Errorf("%s: a difference of equal NaNs: %s", name, s)
			}
			if f.Difference(&r, is(nan|1<<16)) == "" {
				t.Errorf("%s: another NaN is no difference", name)
			}
		}
	}
}

// For approximate forms, numbers that differ from the record must be accepted, because only the
// bound limits them.
func TestApproximateNumbersAreNotCompared(t *testing.T) {
	f := difftest.Form{Name: "half", In: []string{"u32"}, Out: []string{"f16x2"}, Bound: &difftest.Bound{}}
	is := func(x uint64) difftest.Answer { return answered(&f, func([]uint64) uint64 { return x }) }
	r := difftest.NewRecord(&f, is(0x7fff3c00))
	if s := f.Difference(&r, is(0x7fff3c01)); s != "" {
		t.Error(s)
	}
}

func TestAResultOutsideOfItsBoundIsFound(t *testing.T) {
	f := difftest.Form{Name: "half", In: []string{"f32"}, Out: []string{"f32"},
		Bound: &difftest.Bound{Exact: func(a []float64) float64 { return a[0] }, ULP: 2}}
	move := func(by uint64) difftest.Answer {
		return answered(&f, func(in []uint64) uint64 {
			if x := math.Float32frombits(uint32(in[0])); x == x && x > 1 && x < 1e30 {
				return in[0] + by
			}
			return in[0]
		})
	}
	if n, s := f.Outside(move(2)); n != 0 {
		t.Errorf("%d results are outside of two units: %s", n, s)
	}
	if n, _ := f.Outside(move(3)); n == 0 {
		t.Error("three units are not found to be outside of two")
	}
}

func TestAFileIsReadAsItWasWritten(t *testing.T) {
	f := difftest.File{Device: "a", Driver: 13000, Records: []difftest.Record{{Name: "b", Hash: 3, First: []byte{4}, Sums: []uint32{5}}, {Name: "c", Refused: true}}}
	data, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	g, err := difftest.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if g.Device != f.Device || g.Driver != f.Driver || len(g.Records) != 2 || g.Records[0].Sums[0] != 5 || !g.Records[1].Refused {
		t.Errorf("read %+v", g)
	}
}
