package corpus

import (
	"math"
	"slices"
	"testing"
)

func arg(t *testing.T, text string) *Arg {
	t.Helper()
	s := scanner{rest: text}
	a := s.arg()
	if s.end(); s.err != nil {
		t.Fatal(s.err)
	}
	return &a
}

func floats(a *Arg) (list []float64) {
	b := a.bytes("seed")
	for i := range a.Count {
		list = append(list, a.Type.float(b[i*a.Type.Size:]))
	}
	return list
}

func TestFillsAreWhatTheySay(t *testing.T) {
	if got := floats(arg(t, "x f64[3] ramp(1,0.5)")); !slices.Equal(got, []float64{1, 1.5, 2}) {
		t.Errorf("ramp: %v", got)
	}
	if got := floats(arg(t, "x f16[2] const(-0.1)")); got[0] != -0.0999755859375 || got[1] != got[0] {
		t.Errorf("const: %v", got)
	}
	for _, v := range floats(arg(t, "x f32[100] range(2,3)")) {
		if v < 2 || v >= 3 {
			t.Errorf("range(2,3): %v", v)
		}
	}
	for _, c := range arg(t, "x u8[100] text(3)").bytes("seed") {
		if c < 'a' || c > 'c' {
			t.Errorf("text(3): %c", c)
		}
	}
	perm := arg(t, "x u8[50] perm").bytes("seed")
	slices.Sort(perm)
	for i, v := range perm {
		if int(v) != i {
			t.Fatalf("perm: %d at %d when sorted", v, i)
		}
	}
}

// The numbers must never change, because the digests of recorded results depend on them.
func TestRandomNumbersAreTheSameForEver(t *testing.T) {
	if got, want := newRandom("seed").next(), uint64(0x4fc6ff10b8479ed); got != want {
		t.Errorf("%#x, expected %#x", got, want)
	}
	a, b := arg(t, "x u64[4] random"), arg(t, "y u64[4] random")
	if !slices.Equal(a.bytes("s"), a.bytes("s")) || slices.Equal(a.bytes("s"), a.bytes("t")) || slices.Equal(a.bytes("s"), b.bytes("s")) {
		t.Error("contents depend on the names and nothing else")
	}
}

// Every half must survive conversion to float64 and back. A number between two halves must become
// the nearer one, and a tie the even one.
func TestHalvesAreRoundedToTheNearest(t *testing.T) {
	for b := uint16(0); b < 0x7c00; b++ {
		v := halfValue(b)
		if got := halfBits(v); got != b {
			t.Fatalf("%#x is %v is %#x", b, v, got)
		}
		if got := halfBits(-v); got != b|0x8000 && v != 0 {
			t.Fatalf("-%v is %#x", v, got)
		}
		next := halfValue(b + 1)
		if b+1 == 0x7c00 {
			next = 65536
		}
		even := b + b&1
		if got := halfBits((v + next) / 2); got != even {
			t.Fatalf("between %#x and the next is %#x", b, got)
		}
	}
	if got := halfBits(1e6); got != 0x7c00 {
		t.Errorf("1e6 is %#x", got)
	}
}

func TestBfloatsAreRoundedToTheNearest(t *testing.T) {
	for v, want := range map[float64]uint16{1: 0x3f80, 1.00390625: 0x3f80, 1.01171875: 0x3f82, -2.5: 0xc020, 3.4e38: 0x7f80} {
		if got := bfloatBits(v); got != want {
			t.Errorf("%v is %#x, expected %#x", v, got, want)
		}
	}
}

func TestStructsAreLaidOutAsInC(t *testing.T) {
	m := memory{}
	a := arg(t, "s {a u8 1, b f64 1, c i16 -1, d {e u8 2, f u32 3}, g u8 4}")
	b, align, err := m.layOut(a.Fields)
	if err != nil || len(b) != 32 || align != 8 {
		t.Fatalf("%d bytes, alignment %d, %v", len(b), align, err)
	}
	for at, want := range map[int]byte{0: 1, 15: 0x3f, 16: 0xff, 17: 0xff, 20: 2, 24: 3, 28: 4} {
		if b[at] != want {
			t.Errorf("byte %d is %d, expected %d", at, b[at], want)
		}
	}
}

func TestToleranceIsRelativeAndForFloatsOnly(t *testing.T) {
	a := arg(t, "x f32[2] zero ~1e-3")
	put := func(v float64) []byte {
		b := make([]byte, a.Type.Size)
		a.Type.put(b, v)
		return b
	}
	for _, c := range []struct {
		got, want float64
		near      bool
	}{{100, 100.05, true}, {100, 101, false}, {math.NaN(), -math.NaN(), true}, {0, 1e-20, false}, {0, 0, true}} {
		if err := a.near(put(c.got), put(c.want)); (err == nil) != c.near {
			t.Errorf("%v and %v: %v", c.got, c.want, err)
		}
	}
	if err := arg(t, "x u32[1] zero").near([]byte{1, 0, 0, 0}, []byte{2, 0, 0, 0}); err == nil {
		t.Error("whole numbers that differ are near")
	}
}
