package emit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// If all checks record parameters of the kernel in the same field, failure paths do not pass them.
func TestRecordedParameters(t *testing.T) {
	for _, c := range []struct {
		name   string
		values func(b *irtest.Builder, i *ir.Value) [3]*ir.Value // the second value of the checks
		want   [3]int64                                          // if the first value is 7
		kind   string                                            // of the first check
		loads  bool
	}{
		{"parameters", func(b *irtest.Builder, _ *ir.Value) [3]*ir.Value {
			return [3]*ir.Value{b.Param(2), b.Param(4), b.Param(2)}
		}, [3]int64{-5, 1 << 40, -5}, "low", true},
		{"sites with large offsets", func(b *irtest.Builder, _ *ir.Value) [3]*ir.Value {
			return [3]*ir.Value{b.Param(2), b.Param(4), b.Param(2)}
		}, [3]int64{-5, 1 << 40, -5}, strings.Repeat("low", 1<<16/3), false},
		{"the same parameter", func(b *irtest.Builder, _ *ir.Value) [3]*ir.Value {
			return [3]*ir.Value{b.Param(4), b.Param(4), b.Param(4)}
		}, [3]int64{1 << 40, 1 << 40, 1 << 40}, "low", false},
		{"another value", func(b *irtest.Builder, i *ir.Value) [3]*ir.Value {
			return [3]*ir.Value{b.Param(2), b.Param(4), b.Op(ir.OpMul, ir.TI64, i, b.I64(3))}
		}, [3]int64{-5, 1 << 40, 21}, "low", false},
		{"a parameter of 32 bits", func(b *irtest.Builder, _ *ir.Value) [3]*ir.Value {
			return [3]*ir.Value{b.Param(2), b.Op(ir.OpSExt32, ir.TI64, b.Param(1)), b.Param(4)}
		}, [3]int64{-5, -9, 1 << 40}, "low", false},
	} {
		m := &ir.Module{}
		b := irtest.Kernel(m, "k", ir.MPtr, ir.M32, ir.M64, ir.M32, ir.M64)
		b.F.Params[3] = ir.Param{Name: "d", Size: 16, Align: 8, Parts: []ir.Part{{Mem: ir.M32}, {Offset: 8, Mem: ir.M64}}} // has the last two
		b.F.Params = b.F.Params[:4]
		p := b.Index(b.Param(0), b.Special("%tid.x", ir.TI64), 8)
		i := b.Load(ir.M64, p, 0)
		v := c.values(b, i)
		kinds := [3]string{c.kind, "high", "odd"}
		b.Check(kinds[0], b.Cmp(ir.SGe, i, b.I64(0)), i, v[0])
		b.Check(kinds[1], b.Cmp(ir.SLt, i, b.I64(1000)), i, v[1])
		b.Store(ir.M64, p, 0, b.I64(2))
		b.Check(kinds[2], b.Cmp(ir.Eq, b.Op(ir.OpAnd, ir.TI64, i, b.I64(1)), b.I64(0)), i, v[2])
		b.Store(ir.M64, p, 0, b.I64(1))
		b.B.Ret()
		src := text(t, m, emit.Options{})
		if loads := strings.Contains(string(src), ", a;"); loads != c.loads {
			t.Errorf("%s: the record loads a parameter: %t\n%s", c.name, loads, src)
		}
		gputest.Each(t, func(t *testing.T, ctx *driver.Context) {
			for k, bad := range []int64{-4, 5000, 7} {
				_, err := launch(ctx, src, 2, []uint64{0, uint64(bad)}, int32(-9), int64(-5), struct {
					d int32
					e int64
				}{3, 1 << 40})
				want := [3]int64{bad, c.want[k]}
				var fault *driver.KernelFault
				if !errors.As(err, &fault) || fault.Values != want || fault.Kind != kinds[k] || fault.Thread != [3]uint32{1} {
					t.Errorf("%s: %v (%+v), want %s %v\n%s", c.name, err, fault, kinds[k], want, src)
				}
			}
		})
	}
}
