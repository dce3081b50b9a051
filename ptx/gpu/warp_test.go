package gpu_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

var shuffles = []struct {
	ptx string
	fn  func(t gpu.Thread, mask uint32, v uint32, arg, width int) uint32
	all func(t gpu.Thread, v uint32, arg int) uint32
}{
	{"idx", gpu.ShuffleMask[uint32], gpu.Shuffle[uint32]},
	{"up", gpu.ShuffleUpMask[uint32], gpu.ShuffleUp[uint32]},
	{"down", gpu.ShuffleDownMask[uint32], gpu.ShuffleDown[uint32]},
	{"bfly", gpu.ShuffleXorMask[uint32], gpu.ShuffleXor[uint32]},
}

var widths = []int{1, 2, 4, 8, 16, 32}

// shufflePTX returns PTX with a kernel for each mode and width.
func shufflePTX() string {
	var b strings.Builder
	b.WriteString(".version 7.0\n.target sm_70\n.address_size 64\n")
	for _, s := range shuffles {
		for _, width := range widths {
			c := (32 - width) << 8
			if s.ptx != "up" {
				c |= 31
			}
			fmt.Fprintf(&b, `.visible .entry %s%d(.param .u64 pv, .param .u64 pn, .param .u64 pd) {
	.reg .b32 %%i, %%v, %%n; .reg .b64 %%at, %%p;
	mov.u32 %%i, %%tid.x; mul.wide.u32 %%at, %%i, 4;
	ld.param.u64 %%p, [pv]; add.u64 %%p, %%p, %%at; ld.global.b32 %%v, [%%p];
	ld.param.u64 %%p, [pn]; add.u64 %%p, %%p, %%at; ld.global.b32 %%n, [%%p];
	shfl.sync.%s.b32 %%v, %%v, %%n, %d, 0xffffffff;
	ld.param.u64 %%p, [pd]; add.u64 %%p, %%p, %%at; st.global.b32 [%%p], %%v;
	ret;
}
`, s.ptx, width, s.ptx, c)
		}
	}
	return b.String()
}

func TestShufflesAreThoseOfTheInstruction(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		const threads = 1024
		r := rand.New(rand.NewPCG(5, 6))
		v, n := make([]uint32, threads), make([]uint32, threads)
		for i := range v {
			v[i], n[i] = r.Uint32(), r.Uint32N(40)
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%+v", err)
			}
		}
		m, err := c.LoadModule([]byte(shufflePTX()))
		must(err)
		defer m.Close()
		bv, err := driver.AllocFrom(c, v)
		must(err)
		defer bv.Close()
		bn, err := driver.AllocFrom(c, n)
		must(err)
		defer bn.Close()
		bd, err := driver.AllocFrom(c, v)
		must(err)
		defer bd.Close()
		stream, err := c.NewStream()
		must(err)
		defer stream.Close()
		want, got := make([]uint32, threads), make([]uint32, threads)
		for _, s := range shuffles {
			for _, width := range widths {
				k, err := m.Kernel(fmt.Sprintf("%s%d", s.ptx, width))
				must(err)
				must(k.Launch(stream, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(threads)}, bv, bn, bd))
				must(stream.Wait(t.Context()))
				must(bd.CopyTo(want))
				mustRun(t, gpu.D1(1), gpu.D1(threads), func(k gpu.Thread) {
					i := k.Rank()
					got[i] = s.fn(k, gpu.FullMask, v[i], int(n[i]), width)
					if x := s.all(k, v[i], int(n[i])); width == 32 && x != got[i] {
						t.Errorf("%s: %#x without a mask, %#x with one", s.ptx, x, got[i])
					}
				})
				for i := range got {
					if s.ptx != "idx" && n[i] >= 32 { // the instruction ignores these bits
						want[i] = v[i]
					}
					if got[i] != want[i] {
						t.Errorf("%s, width %d, lane %d, operand %d: %#x, want %#x", s.ptx, width, i%32, n[i], got[i], want[i])
						break
					}
				}
			}
		}
	})
}

type celsius float64

func shuffleOf[T gpu.Scalar](t *testing.T, value func(lane int) T) {
	mustRun(t, gpu.D1(1), gpu.D1(32), func(k gpu.Thread) {
		if got := gpu.Shuffle(k, value(k.Lane()), k.Lane()+5); got != value((k.Lane()+5)%32) {
			t.Errorf("lane %d has %v of %T", k.Lane(), got, got)
		}
		if m := gpu.MatchAny(k, value(k.Lane()%3)); m>>k.Lane()&1 == 0 || m>>((k.Lane()+1)%32)&1 != 0 && k.Lane() != 31 {
			t.Errorf("lane %d matches %#x of %T", k.Lane(), m, value(0))
		}
	})
}

func TestShufflesOfAllTypes(t *testing.T) {
	shuffleOf(t, func(i int) int8 { return int8(-i) })
	shuffleOf(t, func(i int) uint16 { return uint16(i * 1000) })
	shuffleOf(t, func(i int) int64 { return int64(i) << 50 })
	shuffleOf(t, func(i int) float32 { return float32(i) / 3 })
	shuffleOf(t, func(i int) celsius { return celsius(i) / 3 })
	shuffleOf(t, func(i int) num.F16 { return num.ToF16(float32(i)) })
	shuffleOf(t, func(i int) num.BF16 { return num.ToBF16(float32(i)) })
	shuffleOf(t, func(i int) num.E4M3 { return num.ToE4M3(float32(i % 8)) })
	shuffleOf(t, func(i int) num.E5M2 { return num.ToE5M2(float32(i % 4)) })
}

// A lane that reads from a lane that has exited or does not exist gets a NaN pattern.
func TestShuffleFromAnAbsentLane(t *testing.T) {
	mustRun(t, gpu.D1(1), gpu.D1(20), func(k gpu.Thread) {
		if k.Lane() == 7 {
			return
		}
		v := gpu.Shuffle(k, float32(1), k.Lane()+1)
		if absent := k.Lane() == 6 || k.Lane() == 19; absent == (v == v) {
			t.Errorf("lane %d has %v", k.Lane(), v)
		}
	})
}

func TestVotes(t *testing.T) {
	mustRun(t, gpu.D1(1), gpu.D1(50), func(k gpu.Thread) {
		present := uint32(1<<32 - 1)
		if k.Warp() == 1 {
			present = 1<<18 - 1
		}
		odd := k.Lane()%2 == 1
		if b := gpu.Ballot(k, odd); b != 0xaaaaaaaa&present {
			t.Errorf("ballot %#x", b)
		}
		if gpu.All(k, odd) || !gpu.All(k, true) || !gpu.Any(k, odd) || gpu.Any(k, false) {
			t.Error("All or Any is wrong")
		}
		if m := gpu.ActiveMask(k); m != present {
			t.Errorf("active mask %#x, want %#x", m, present)
		}
		if odd {
			const mask = 0xaaaaaaaa
			if b := gpu.BallotMask(k, mask, k.Lane() < 10); b != 0x2aa {
				t.Errorf("ballot %#x of odd lanes", b)
			}
			if !gpu.AllMask(k, mask, odd) || gpu.AnyMask(k, mask, !odd) {
				t.Error("AllMask or AnyMask is wrong")
			}
			if m, ok := gpu.MatchAllMask(k, mask, int64(7)<<40); m != mask&present || !ok {
				t.Errorf("MatchAllMask is %#x, %v", m, ok)
			}
			if m := gpu.MatchAnyMask(k, mask, k.Lane()&2); m != present&[]uint32{0x22222222, 0x88888888}[k.Lane()>>1&1] {
				t.Errorf("MatchAnyMask is %#x", m)
			}
		}
		if m, ok := gpu.MatchAll(k, k.Lane()/40); m != present || !ok {
			t.Errorf("MatchAll of equal values is %#x, %v", m, ok)
		}
		if m, ok := gpu.MatchAll(k, k.Lane()); m != 0 || ok {
			t.Errorf("MatchAll of different values is %#x, %v", m, ok)
		}
	})
}

func TestReductions(t *testing.T) {
	mustRun(t, gpu.D1(1), gpu.D1(64), func(k gpu.Thread) {
		x := int32(k.Lane()*7%32) - 5
		u := uint32(1) << k.Lane()
		if s, m, n := gpu.ReduceAdd(k, x), gpu.ReduceMin(k, x), gpu.ReduceMax(k, x); s != 336 || m != -5 || n != 26 {
			t.Errorf("sum %d, least %d, largest %d", s, m, n)
		}
		if n := gpu.ReduceMax(k, uint32(x)); n != 1<<32-1 {
			t.Errorf("largest %d", n)
		}
		if a, o, x := gpu.ReduceAnd(k, u|0x70), gpu.ReduceOr(k, u), gpu.ReduceXor(k, u&0xff); a != 0x70 || o != gpu.FullMask || x != 0xff {
			t.Errorf("and %#x, or %#x, xor %#x", a, o, x)
		}
		if k.Lane() < 4 {
			v := int32(k.Lane()) + 1
			got := [...]int32{gpu.ReduceAddMask(k, 15, v), gpu.ReduceMinMask(k, 15, v), gpu.ReduceMaxMask(k, 15, v),
				gpu.ReduceAndMask(k, 15, v|8), gpu.ReduceOrMask(k, 15, v), gpu.ReduceXorMask(k, 15, v)}
			if got != [...]int32{10, 1, 4, 8, 7, 4} {
				t.Errorf("reductions %v", got)
			}
		}
	})
}

// The two halves of a warp call different operations with separate masks, in different orders.
func TestDivergentOperations(t *testing.T) {
	mustRun(t, gpu.D1(1), gpu.D1(32), func(k gpu.Thread) {
		mask := uint32(0xffff)
		if k.Lane() >= 16 {
			mask = 0xffff0000
			k.SyncWarpMask(mask)
		}
		for i := range 10 {
			if b := gpu.BallotMask(k, mask, k.Lane()%10 == i); bits.OnesCount32(b) < 1 || b&^mask != 0 {
				t.Errorf("ballot %#x", b)
			}
		}
		k.SyncWarp()
	})
}
