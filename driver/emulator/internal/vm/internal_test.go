package vm

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/purecuda/cuda/ptx/num"
)

// A step in a matrix product must have the same result in float64 arithmetic as in integer
// arithmetic.
func TestQuickSumsAreTheGeneralOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	w := new(mmaWork)
	for _, typ := range []elemType{elemF16, elemBF16, elemTF32} {
		for _, f16 := range []bool{false, true} {
			f := elemFormats[typ]
			rule := sumRule{step: stepProducts, fraction: int32(2 * f.mant), f16: f16, c16: f16}
			for range 20000 {
				testQuickSum(t, r, w, f, &rule)
			}
		}
	}
}

func testQuickSum(t *testing.T, r *rand.Rand, w *mmaWork, f format, rule *sumRule) {
	t.Helper()
	a, b := w.a[:stepProducts], w.b[:stepProducts]
	spread := uint32(1 + r.IntN(1<<f.exp))
	numbers := true
	for k := range a {
		x, y := randomPattern(r, f, spread), randomPattern(r, f, spread)
		a[k], b[k] = f.term(x), f.term(y)
		number := w.quickA.put(uint16(k), x, f)
		numbers = w.quickB.put(uint16(k), y, f) && number && numbers
	}
	c := r.Uint32()
	if r.IntN(4) == 0 {
		c = 0
	}
	if rule.c16 {
		c &= 0xffff
	}
	want := rule.add(a, b, termC(c, rule.c16))
	got, ok := rule.quickSteps(w, 0, 0, stepProducts, c)
	if ok && numbers && got != want {
		t.Fatalf("%+v: %v times %v plus %#x is %#x, want %#x", *rule, a, b, c, got, want)
	}
	if wild := termC(c, rule.c16).exp >= expInf; ok == wild {
		t.Fatalf("%+v: plus %#x is quick: %v", *rule, c, ok)
	}
}

// randomPattern returns the bit pattern of an element, usually with an exponent below spread. Some
// patterns are zeros or have the highest exponent.
func randomPattern(r *rand.Rand, f format, spread uint32) uint32 {
	exp := r.Uint32N(spread)
	switch r.IntN(200) {
	case 0:
		exp = 1<<f.exp - 1
	case 1, 2, 3, 4, 5, 6, 7, 8:
		return r.Uint32N(2) << (f.exp + f.mant)
	}
	return r.Uint32N(1<<f.mant) | exp<<f.mant | r.Uint32N(2)<<(f.exp+f.mant)
}

func TestSourceLines(t *testing.T) {
	const text = "first\n\n\tthird\n"
	for n, want := range map[int]string{1: "first", 2: "", 3: "third", 4: "", 5: ""} {
		if got := sourceLine(text, n); got != want {
			t.Errorf("line %d is %q, want %q", n, got, want)
		}
	}
}

// Together, any number of workers must take each unit exactly once. A worker whose share is empty
// must take units from other shares.
func TestSharesAreWholeAndTaken(t *testing.T) {
	for _, units := range []uint64{1, 2, 7, 32, 1000} {
		for _, workers := range []int{1, 2, 3, 7} {
			r := launchRun{units: units}
			r.divide(min(workers, int(units)))
			if i, _ := r.take(0); i != 0 {
				t.Errorf("the first worker begins with unit %d", i)
			}
			for last := uint64(0); ; { // a single worker takes all units
				i, left := r.take(0)
				if !left {
					break
				}
				if i != last+1 {
					t.Fatalf("%d units, %d workers: unit %d after %d", units, workers, i, last)
				}
				last = i
			}
			r.divide(workers)
			if got := takeTogether(&r, workers); !slices.Equal(got, upTo(units)) {
				t.Errorf("%d units, %d workers: %v", units, workers, got)
			}
		}
	}
}

// takeTogether returns, in ascending order, the units that concurrent workers take.
func takeTogether(r *launchRun, workers int) (all []uint64) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for w := range workers {
		wg.Go(func() {
			for i, left := r.take(w); left; i, left = r.take(w) {
				mu.Lock()
				all = append(all, i)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(all)
	return all
}

func upTo(n uint64) (all []uint64) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestPoisonIsNaNInEveryFormat(t *testing.T) {
	b := make([]byte, 16)
	poison(b)
	x := binary.LittleEndian.Uint64(b[8:])
	if math.Float64frombits(x) == math.Float64frombits(x) || math.Float32frombits(uint32(x)) == math.Float32frombits(uint32(x)) ||
		!num.F16FromBits(uint16(x)).IsNaN() || !num.BF16FromBits(uint16(x)).IsNaN() {
		t.Errorf("%#x is a number", x)
	}
}
