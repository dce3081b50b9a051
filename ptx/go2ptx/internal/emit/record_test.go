package emit_test

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// A fault record contains the values of the check that failed, whether failure paths pass them in 32 or
// 64 bits, and whether all checks of the function have the same value.
func TestRecordedValues(t *testing.T) {
	const big = 1 << 40
	extended := func(b *irtest.Builder, i *ir.Value, c int32) *ir.Value {
		return b.Op(ir.OpSExt32, ir.TI64, b.Op(ir.OpAdd, ir.TI32, i, b.I32(c)))
	}
	wide := func(b *irtest.Builder, i *ir.Value, c int64) *ir.Value {
		return b.Op(ir.OpAdd, ir.TI64, b.Op(ir.OpSExt32, ir.TI64, i), b.I64(c))
	}
	for _, c := range []struct {
		name  string
		value func(b *irtest.Builder, i, n *ir.Value) [2]*ir.Value // the second value of both checks, from the index and the parameter
		want  [2]int64                                             // if the index is -3 or 9
		text  string                                               // how the value gets into the record
	}{
		{"extended", func(b *irtest.Builder, i, _ *ir.Value) [2]*ir.Value {
			return [2]*ir.Value{extended(b, i, -1), extended(b, i, 2)}
		}, [2]int64{-4, 11}, "selp.b32"},
		{"wide", func(b *irtest.Builder, i, _ *ir.Value) [2]*ir.Value {
			return [2]*ir.Value{wide(b, i, big), wide(b, i, 5)}
		}, [2]int64{big - 3, 14}, "selp.b64"},
		{"extended or wide", func(b *irtest.Builder, i, _ *ir.Value) [2]*ir.Value {
			return [2]*ir.Value{extended(b, i, -1), wide(b, i, big)}
		}, [2]int64{-4, big + 9}, "selp.b64"},
		{"extended or constant", func(b *irtest.Builder, i, _ *ir.Value) [2]*ir.Value {
			return [2]*ir.Value{extended(b, i, -1), b.I64(-7)}
		}, [2]int64{-4, -7}, "cvt.s64.s32"},
		{"constant or wide", func(b *irtest.Builder, i, _ *ir.Value) [2]*ir.Value {
			return [2]*ir.Value{b.I64(5), wide(b, i, big)}
		}, [2]int64{5, big + 9}, "mov.b64"},
		{"constants", func(b *irtest.Builder, _, _ *ir.Value) [2]*ir.Value {
			return [2]*ir.Value{b.I64(big), b.I64(-big)}
		}, [2]int64{big, -big}, "st.global.v2.u64"},
		{"constant or parameter", func(b *irtest.Builder, _, n *ir.Value) [2]*ir.Value {
			return [2]*ir.Value{b.I64(16), n}
		}, [2]int64{16, -1}, "+32], %rd"},
		{"parameter", func(_ *irtest.Builder, _, n *ir.Value) [2]*ir.Value {
			return [2]*ir.Value{n, n}
		}, [2]int64{-1, -1}, "+32], %rd"},
	} {
		for _, merged := range []bool{true, false} {
			m := &ir.Module{}
			b := irtest.Kernel(m, "k", ir.MPtr, ir.M64)
			n := b.Param(1)
			p := b.Index(b.Param(0), b.Special("%tid.x", ir.TI64), 8)
			i := b.Load(ir.M32, p, 0)
			v := c.value(b, i, n)
			long := b.Op(ir.OpSExt32, ir.TI64, i)
			b.Check("low", b.Op(ir.OpNot, ir.TBool, b.Cmp(ir.SLt, i, b.I32(0))), long, v[0])
			if !merged {
				b.Store(ir.M64, p, 0, b.I64(2))
			}
			b.Check("high", b.Cmp(ir.SLe, i, b.I32(5)), long, v[1])
			b.Store(ir.M64, p, 0, b.I64(1))
			b.B.Ret()
			src := text(t, m, emit.Options{})
			if merged && !strings.Contains(string(src), c.text) {
				t.Errorf("%s: the text has no %s:\n%s", c.name, c.text, src)
			}
			gputest.Each(t, func(t *testing.T, ctx *driver.Context) {
				for k, bad := range []int64{-3, 9} {
					_, err := launch(ctx, src, 2, []uint64{0, uint64(bad)}, int64(-1))
					want := [3]int64{bad, c.want[k]}
					var fault *driver.KernelFault
					if !errors.As(err, &fault) || fault.Values != want || fault.Kind != [2]string{"low", "high"}[k] || fault.Thread != [3]uint32{1} {
						t.Errorf("%s: %v (%+v), want %v\n%s", c.name, err, fault, want, src)
					}
				}
			})
		}
	}
}

// A value that follows a constant is stored alone.
func TestRecordedValueAfterAConstant(t *testing.T) {
	m := &ir.Module{}
	b := irtest.Kernel(m, "k", ir.MPtr)
	v := b.Load(ir.M64, b.Param(0), 0)
	b.Check("low", b.Cmp(ir.SLt, v, b.I64(5)), v, b.I64(7), b.Op(ir.OpAdd, ir.TI64, v, b.I64(1)))
	b.B.Ret()
	src := text(t, m, emit.Options{})
	gputest.Each(t, func(t *testing.T, ctx *driver.Context) {
		_, err := launch(ctx, src, 1, []uint64{9})
		var fault *driver.KernelFault
		if want := [3]int64{9, 7, 10}; !errors.As(err, &fault) || fault.Values != want {
			t.Errorf("%v (%+v), want %v\n%s", err, fault, want, src)
		}
	})
}

// The failure path of merged checks in a loop selects between few values. If there are more, the checks have
// several paths, and the first one that fails is recorded.
func TestRecordedValuesOfManyChecks(t *testing.T) {
	for _, loop := range []bool{true, false} {
		m := &ir.Module{}
		b := irtest.Kernel(m, "k", ir.MPtr)
		p := b.Index(b.Param(0), b.Special("%tid.x", ir.TI64), 64)
		entry, body, end := b.B, b.Block(), b.Block()
		entry.Jump(body)
		b.Set(body)
		var x [6]*ir.Value
		for i := range x {
			x[i] = b.Load(ir.M64, p, 8*int64(i))
		}
		kinds := []string{"first", "second", "third"}
		b.Check(kinds[0], b.Cmp(ir.SLt, x[0], x[1]), x[0], x[1])
		b.Check(kinds[1], b.Op(ir.OpNot, ir.TBool, b.Cmp(ir.SLt, x[2], x[3])), x[2], x[1], x[0])
		b.Check(kinds[2], b.Cmp(ir.SLt, x[4], x[5]), x[4], x[5], x[2])
		b.Store(ir.M64, p, 0, b.Op(ir.OpAdd, ir.TI64, x[0], b.I64(1)))
		if loop {
			b.B.If(b.Cmp(ir.SLt, x[0], b.I64(3)), body, end)
		} else {
			b.B.Jump(end)
		}
		b.Set(end)
		b.B.Ret()
		src := text(t, m, emit.Options{})
		if n, want := strings.Count(string(src), "selp.b64"), map[bool]int{true: 1, false: 5}[loop]; n != want {
			t.Errorf("loop: %t: %d selections, want %d\n%s", loop, n, want, src)
		}
		gputest.Each(t, func(t *testing.T, ctx *driver.Context) {
			for fails := range 8 {
				words := []uint64{1, 9, 5, 4, 7, 8, 0, 0}
				for i := range 3 {
					if fails>>i&1 != 0 {
						words[2*i], words[2*i+1] = words[2*i+1], words[2*i]
					}
				}
				_, err := launch(ctx, src, 1, words)
				if fails == 0 {
					if err != nil {
						t.Error(err)
					}
					continue
				}
				i := bits.TrailingZeros(uint(fails))
				w := func(i int) int64 { return int64(words[i]) }
				want := [][3]int64{{w(0), w(1)}, {w(2), w(1), w(0)}, {w(4), w(5), w(2)}}[i]
				var fault *driver.KernelFault
				if !errors.As(err, &fault) || fault.Values != want || fault.Kind != kinds[i] {
					t.Errorf("loop: %t: %v (%+v), want %s %v\n%s", loop, err, fault, kinds[i], want, src)
				}
			}
		})
	}
}

// If a value has 32 bits in all checks of a failure path, but not in all checks of the function, the path chooses
// in 32 bits and extends the result.
func TestRecordedChoicesOf32Bits(t *testing.T) {
	m := &ir.Module{}
	b := irtest.Kernel(m, "k", ir.MPtr)
	p := b.Index(b.Param(0), b.Special("%tid.x", ir.TI64), 16)
	x, i := b.Load(ir.M64, p, 0), b.Load(ir.M32, p, 8)
	b.Check("wide", b.Cmp(ir.SLt, x, b.I64(1<<50)), x)
	b.Store(ir.M64, p, 0, b.I64(1))
	b.Check("low", b.Cmp(ir.SGe, i, b.I32(-5)), b.Op(ir.OpSExt32, ir.TI64, b.Op(ir.OpSub, ir.TI32, i, b.I32(1))))
	b.Check("middle", b.Cmp(ir.Ne, i, b.I32(3)), b.I64(-7))
	b.Check("high", b.Cmp(ir.SLt, i, b.I32(5)), b.Op(ir.OpSExt32, ir.TI64, i))
	b.B.Ret()
	src := text(t, m, emit.Options{})
	if s := string(src); strings.Contains(s, "selp.b64") || strings.Count(s, "cvt.s64.s32") > 2 { // one is for the site
		t.Errorf("the failure path chooses in 64 bits:\n%s", src)
	}
	gputest.Each(t, func(t *testing.T, ctx *driver.Context) {
		for _, c := range []struct {
			x, i  int64
			kind  string
			value int64
		}{{1 << 60, 0, "wide", 1 << 60}, {0, -9, "low", -10}, {0, 3, "middle", -7}, {0, 8, "high", 8}} {
			_, err := launch(ctx, src, 1, []uint64{uint64(c.x), uint64(c.i)})
			var fault *driver.KernelFault
			if !errors.As(err, &fault) || fault.Kind != c.kind || fault.Values[0] != c.value {
				t.Errorf("%v: %v\n%s", c, err, src)
			}
		}
	})
}

// The time that ptxas takes depends on the number of blocks and instructions, so the code that writes the record
// has no branches, and stores no constant zeros.
func TestRecordIsShort(t *testing.T) {
	m := &ir.Module{}
	b := irtest.Kernel(m, "k", ir.MPtr)
	p := b.Index(b.Param(0), b.Special("%tid.x", ir.TI64), 16)
	x, y := b.Load(ir.M64, p, 0), b.Load(ir.M64, p, 8)
	b.Check("one", b.Cmp(ir.SLt, x, b.I64(5)), x)
	b.Store(ir.M64, p, 0, b.I64(1))
	b.Check("other", b.Cmp(ir.SLt, y, b.I64(5)), y)
	b.B.Ret()
	src := string(text(t, m, emit.Options{}))
	_, record, found := strings.Cut(src, "_record:\n")
	if !found || strings.Contains(record, "bra") || strings.Contains(record, ", 0;\n\tst") || strings.Contains(record, "], 0;") || strings.Count(record, "\n") > 24 || strings.Count(record, "@") > 1 {
		t.Errorf("the record is\n%s", record)
	}
}

// A thread that finds the slot claimed does not write into the record, and stores the claim that it found.
func TestLateThreads(t *testing.T) {
	m := &ir.Module{}
	b := irtest.Kernel(m, "k", ir.MPtr)
	x := b.Load(ir.M64, b.Param(0), 0)
	b.Check("one", b.Cmp(ir.SLt, x, b.I64(5)), x)
	b.B.Ret()
	src := string(text(t, m, emit.Options{}))
	claims := regexp.MustCompile(`atom\.global\.max\.u32 (%r\d+), \[__purecuda_fault\+16\], (%r\d+);\s+setp\.ge\.u32 (%p\d+), (%r\d+), (%r\d+);\s+max\.u32 (%r\d+), (%r\d+), (%r\d+);\s+@(%p\d+) add\.s64 (%rd\d+), (%rd\d+), 80;\s`).FindStringSubmatch(src)
	if claims == nil {
		t.Fatalf("no thread is late in\n%s", src)
	}
	old, number, late := claims[1], claims[2], claims[3]
	if want := []string{old, number, number, number, old, late}; !slices.Equal(claims[4:10], want) {
		t.Errorf("the registers are %v, want %v, in\n%s", claims[4:10], want, src)
	}
}

// Few checks have one branch. Each of many is recorded with its own values.
func TestManyMergedChecks(t *testing.T) {
	const checks = 12
	m := &ir.Module{}
	b := irtest.Kernel(m, "k", ir.MPtr)
	var x [checks]*ir.Value
	for i := range x {
		x[i] = b.Load(ir.M64, b.Param(0), 8*int64(i))
	}
	for i, v := range x {
		b.Check(fmt.Sprint("kind ", i), b.Cmp(ir.SLt, v, b.I64(5)), v)
	}
	b.Store(ir.M64, b.Param(0), 0, b.I64(1))
	b.B.Ret()
	src := text(t, m, emit.Options{})
	if n := len(regexp.MustCompile(`bra \$L\d+_fault;`).FindAll(src, -1)); n != 3 {
		t.Errorf("%d branches, want 3\n%s", n, src)
	}
	gputest.Each(t, func(t *testing.T, ctx *driver.Context) {
		for i := range checks {
			words := make([]uint64, checks)
			words[checks-1] = 100 // the first check that fails counts
			words[i] = uint64(10 + i)
			_, err := launch(ctx, src, 1, words)
			var fault *driver.KernelFault
			if !errors.As(err, &fault) || fault.Kind != fmt.Sprint("kind ", i) || fault.Values[0] != int64(10+i) {
				t.Errorf("check %d: %v (%+v)\n%s", i, err, fault, src)
			}
		}
	})
}
