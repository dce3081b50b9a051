package opt_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/opt"
)

// steppedLoop builds a kernel that stores the number of iterations of a loop, and the last counter, for
// i := start; i cond n && count < 50; i += step. It stores each counter, too.
func steppedLoop(m *ir.Module, kind ir.Mem, cond ir.Cond, step int64) *ir.Func {
	b := irtest.Kernel(m, "k", ir.MPtr, kind, kind)
	p, start, n := b.Param(0), b.Param(1), b.Param(2)
	head, next, body, end := b.Block(), b.Block(), b.Block(), b.Block()
	b.B.Jump(head)
	b.Set(head)
	i, count := b.Phi(head, start.Type), b.Phi(head, ir.TI64)
	b.B.If(b.Cmp(cond, i, n), next, end)
	b.Set(next)
	b.B.If(b.Cmp(ir.SLt, count, b.I64(50)), body, end)
	b.Set(body)
	b.Store(kind, b.Index(p, count, 8), 16, i)
	more := b.Op(ir.OpAdd, ir.TI64, count, b.I64(1))
	b.B.Jump(head)
	i.Args = []*ir.Value{start, b.Op(ir.OpAdd, i.Type, i, b.F.Const(i.Type, step))}
	count.Args = []*ir.Value{b.I64(0), more}
	b.Set(end)
	b.Store(ir.M64, p, 0, count)
	b.Store(kind, p, 8, i)
	b.B.Ret()
	return b.F
}

// A partially unrolled loop must have the same iterations for every start, bound, direction and step,
// at the limits of the type, too.
func TestPartialUnrolling(t *testing.T) {
	for _, c := range []struct {
		cond ir.Cond
		step int64
	}{
		{ir.SLt, 1}, {ir.SLe, 1}, {ir.SLt, 7}, {ir.SLe, 7}, {ir.SGt, -1}, {ir.SGe, -1}, {ir.SGt, -5}, {ir.SGe, -5},
		{ir.ULt, 1}, {ir.ULe, 3}, {ir.UGt, -1}, {ir.UGe, -3}, {ir.SLt, -1}, {ir.SGt, 2}, {ir.ULt, -1}, {ir.Ne, 1},
	} {
		for _, mem := range []ir.Mem{ir.M32, ir.M64} {
			plain, m := &ir.Module{}, &ir.Module{}
			want, f := steppedLoop(plain, mem, c.cond, c.step), steppedLoop(m, mem, c.cond, c.step)
			if _, err := opt.Run(f, opt.Options{Verify: true}); err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("%s step %d, %s", c.cond, c.step, mem)
			if len(f.Unrolled) != 1 {
				t.Errorf("%s: unrolled %v", name, f.Unrolled)
			}
			low, high := int64(math.MinInt64), int64(math.MaxInt64)
			if mem == ir.M32 {
				low, high = math.MinInt32, math.MaxInt32
			}
			var ends []int64
			for _, d := range []int64{0, 1, 3, 20, 22} {
				ends = append(ends, low+d, high-d, d, -1-d)
			}
			for _, start := range ends {
				for _, n := range ends {
					if a, b := iterations(t, plain, want, start, n), iterations(t, m, f, start, n); a != b {
						t.Fatalf("%s: from %d to %d: %s, want %s\n%s", name, start, n, b, a, f)
					}
				}
			}
		}
	}
}

// A tiny body has four copies, although eight of them would load little. The sums must be right.
func TestTinyBodies(t *testing.T) {
	for _, c := range []struct {
		arrays, more int
		loads        ir.Mem
	}{
		{1, 0, ir.M32},
		{1, 0, ir.M64},
		{2, 0, ir.M64},
		{1, 2, ir.M32}, // a larger body
	} {
		m := &ir.Module{}
		b := irtest.Kernel(m, "k", ir.MPtr, ir.M64)
		p, n := b.Param(0), b.Param(1)
		head, body, end := b.Block(), b.Block(), b.Block()
		b.B.Jump(head)
		b.Set(head)
		i, sum := b.Phi(head, ir.TI64), b.Phi(head, ir.TI64)
		b.B.If(b.Cmp(ir.SLt, i, n), body, end)
		b.Set(body)
		at, next := b.Index(p, i, 8), sum
		for k := range c.arrays {
			x := b.Load(c.loads, at, int64(8+1000*k))
			if c.loads == ir.M32 {
				x = b.Op(ir.OpZExt32, ir.TI64, x)
			}
			next = b.Op(ir.OpAdd, ir.TI64, next, x)
		}
		for range c.more {
			next = b.Op(ir.OpXor, ir.TI64, b.Op(ir.OpMul, ir.TI64, next, next), i)
		}
		b.B.Jump(head)
		i.Args = []*ir.Value{b.I64(0), b.Op(ir.OpAdd, ir.TI64, i, b.I64(1))}
		sum.Args = []*ir.Value{b.I64(0), next}
		b.Set(end)
		b.Store(ir.M64, p, 0, sum)
		b.B.Ret()
		text := optimised(t, b.F)
		if len(b.F.Unrolled) != 1 || b.F.Unrolled[0].Times != 4 {
			t.Errorf("%+v: unrolled %v, want 4 times:\n%s", c, b.F.Unrolled, text)
		}
		counts(t, text, map[string]int{" = load": c.arrays * (4 + 1)})
		for n := range int64(30) {
			x := irtest.New(m)
			p := x.Alloc(8 * 1000)
			want := int64(0)
			for i := range n {
				for k := range int64(c.arrays) {
					v := 100*i + k
					binary.LittleEndian.PutUint64(x.Memory[p+8+8*i+1000*k:], uint64(v))
					want += v
				}
				for range c.more {
					want = want*want ^ i
				}
			}
			if _, err := x.Call(b.F, []int64{p, n}); err != nil {
				t.Fatal(err)
			}
			if got := int64(binary.LittleEndian.Uint64(x.Memory[p:])); got != want {
				t.Errorf("%+v: %d iterations: %d, want %d", c, n, got, want)
			}
		}
	}
}

// A check whose bound changes in the loop must stay in each copy of the body.
func TestChecksOfChangingBoundsStayInUnrolledLoops(t *testing.T) {
	loop := func(m *ir.Module) *ir.Func {
		b := irtest.Kernel(m, "k", ir.MPtr, ir.M64)
		p, n := b.Param(0), b.Param(1)
		head, body, end := b.Block(), b.Block(), b.Block()
		b.B.Jump(head)
		b.Set(head)
		i := b.Phi(head, ir.TI64)
		b.B.If(b.Cmp(ir.SLt, i, n), body, end)
		b.Set(body)
		q := b.Index(p, i, 8)
		bound := b.Load(ir.M64, q, 0)
		b.Check("index", b.Cmp(ir.SLt, i, bound), i, bound)
		b.Store(ir.M64, q, 8*20, i)
		b.B.Jump(head)
		i.Args = []*ir.Value{b.I64(0), b.Op(ir.OpAdd, ir.TI64, i, b.I64(1))}
		b.Set(end)
		b.B.Ret()
		return b.F
	}
	plain, m := &ir.Module{}, &ir.Module{}
	want, f := loop(plain), loop(m)
	if _, err := opt.Run(f, opt.Options{Verify: true}); err != nil {
		t.Fatal(err)
	}
	if len(f.Unrolled) != 1 {
		t.Errorf("unrolled %v\n%s", f.Unrolled, f)
	}
	for bad := range 12 {
		fails := func(m *ir.Module, f *ir.Func) string {
			x := irtest.New(m)
			p := x.Alloc(8 * 40)
			for i := range int64(12) {
				bound := uint64(100)
				if i == int64(bad) {
					bound = uint64(i)
				}
				binary.LittleEndian.PutUint64(x.Memory[p+8*i:], bound)
			}
			_, err := x.Call(f, []int64{p, 11})
			return fmt.Sprint(err)
		}
		if a, b := fails(plain, want), fails(m, f); a != b || (bad < 11) != (a != "<nil>") {
			t.Errorf("bound %d: %s, want %s\n%s", bad, b, a, f)
		}
	}
}

func iterations(t *testing.T, m *ir.Module, f *ir.Func, start, n int64) string {
	t.Helper()
	x := irtest.New(m)
	p := x.Alloc(8 * 60)
	if _, err := x.Call(f, []int64{p, start, n}); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i := range int64(60) {
		fmt.Fprint(&text, int64(binary.LittleEndian.Uint64(x.Memory[p+8*i:])), " ")
	}
	return text.String()
}

// rowLoop builds a kernel that adds 4 bytes per iteration, from a row at an offset from the parameter, and
// stores them, too.
func rowLoop(m *ir.Module) *ir.Func {
	b := irtest.Kernel(m, "k", ir.MPtr, ir.M64, ir.M64)
	p, offset, n := b.Param(0), b.Param(1), b.Param(2)
	row := b.Op(ir.OpPtrAdd, p.Type, p, offset)
	head, body, end := b.Block(), b.Block(), b.Block()
	b.B.Jump(head)
	b.Set(head)
	i, sum := b.Phi(head, ir.TI64), b.Phi(head, ir.TI32)
	b.B.If(b.Cmp(ir.SLt, i, n), body, end)
	b.Set(body)
	q := b.Op(ir.OpPtrAdd, p.Type, row, i)
	next := sum
	var bytes []*ir.Value
	for k := range int64(4) {
		x := b.Load(ir.MS8, q, k)
		next = b.Op(ir.OpAdd, ir.TI32, b.Op(ir.OpMul, ir.TI32, next, b.I32(3)), x)
		bytes = append(bytes, x)
	}
	for k, x := range bytes {
		b.Store(ir.MS8, q, 100+int64(k), x)
	}
	i.Args = []*ir.Value{b.I64(8), b.Op(ir.OpAdd, ir.TI64, i, b.I64(4))}
	sum.Args = []*ir.Value{b.I32(0), next}
	b.B.Jump(head)
	b.Set(end)
	b.Store(ir.M32, p, 0, sum)
	b.B.Ret()
	return b.F
}

// If a loop is unrolled partially, the copies must access vectors without a condition, and rows without
// alignment are left to the other loop.
func TestAlignmentInUnrolledLoops(t *testing.T) {
	plain, m := &ir.Module{}, &ir.Module{}
	want, f := rowLoop(plain), rowLoop(m)
	if _, err := opt.Run(f, opt.Options{Verify: true}); err != nil {
		t.Fatal(err)
	}
	var without, with int
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			switch {
			case v.Op == ir.OpLoadV && len(v.Args) == 1, v.Op == ir.OpStoreV && len(v.Args) == 5:
				without++
			case v.Op == ir.OpLoadV, v.Op == ir.OpStoreV:
				with++
			}
		}
	}
	if without != 8 || with != 2 {
		t.Errorf("%d vectors without a condition and %d with one, want 8 and 2:\n%s", without, with, f)
	}
	for offset := range int64(9) {
		for _, n := range []int64{0, 9, 24, 25, 28, 40, 60} {
			if a, b := bytesAfter(t, plain, want, offset, n), bytesAfter(t, m, f, offset, n); a != b {
				t.Fatalf("offset %d, %d bytes: %s, want %s\n%s", offset, n, b, a, f)
			}
		}
	}
}

func bytesAfter(t *testing.T, m *ir.Module, f *ir.Func, offset, n int64) string {
	t.Helper()
	x := irtest.New(m)
	p := x.Alloc(256)
	for i := range int64(80) {
		x.Memory[p+i] = byte(7*i + i*i)
	}
	if _, err := x.Call(f, []int64{p, offset, n}); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(x.Memory[p : p+256])
}

// A loop whose unsigned counter takes a known number of values that is a multiple of the number of copies needs no
// loop for remaining iterations.
func TestUnsignedLoopsOfKnownLength(t *testing.T) {
	for _, c := range []struct {
		cond              ir.Cond
		start, end, step  int32
		unroll, additions int
		want              uint64
	}{
		{ir.ULt, 0, 64, 1, 16, 16, 64}, {ir.ULt, 0, 65, 1, 16, 17, 65}, {ir.ULe, 1, 64, 1, 16, 16, 64}, {ir.ULe, 0, 64, 1, 16, 17, 65},
		{ir.ULt, 3, 99, 2, 8, 8, 48}, {ir.ULt, 0, -1 << 28, 1 << 28, 5, 1, 15}, {ir.UGt, 64, 0, -1, 16, 17, 64},
	} {
		m := &ir.Module{}
		b := irtest.Kernel(m, "k", ir.MPtr)
		p := b.Param(0)
		head, body, end := b.Block(), b.Block(), b.Block()
		head.Unroll = c.unroll
		b.B.Jump(head)
		b.Set(head)
		i, n := b.Phi(head, ir.TI32), b.Phi(head, ir.TI64)
		b.B.If(b.Cmp(c.cond, i, b.I32(c.end)), body, end)
		b.Set(body)
		more := b.Op(ir.OpAdd, ir.TI64, b.Op(ir.OpXor, ir.TI64, n, b.I64(1<<40)), b.I64(1))
		b.B.Jump(head)
		i.Args = []*ir.Value{b.I32(c.start), b.Op(ir.OpAdd, ir.TI32, i, b.I32(c.step))}
		i.Args[1].Block = body
		n.Args = []*ir.Value{b.I64(0), more}
		b.Set(end)
		b.Store(ir.M64, p, 0, b.Op(ir.OpAnd, ir.TI64, n, b.I64(1<<40-1)))
		b.B.Ret()
		text := optimised(t, b.F)
		counts(t, text, map[string]int{"xor ": c.additions})
		x := irtest.New(m)
		out := x.Alloc(8)
		if _, err := x.Call(b.F, []int64{out}); err != nil {
			t.Fatal(err)
		}
		if n := binary.LittleEndian.Uint64(x.Memory[out:]); n != c.want {
			t.Errorf("%+v: %d iterations\n%s", c, n, text)
		}
	}
}
