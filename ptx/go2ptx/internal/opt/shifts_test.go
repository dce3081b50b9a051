package opt_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/opt"
)

// A shift to the right and one to the left by the same number of bits must become a mask of the
// other bits.
func TestShiftsThatClearTheLowestBits(t *testing.T) {
	for n := int32(1); n < 32; n++ {
		m := &ir.Module{}
		b := irtest.Kernel(m, "k", ir.MPtr)
		x := b.Load(ir.M32, b.Param(0), 0)
		b.Store(ir.M32, b.Param(0), 4, b.Op(ir.OpShl, ir.TI32, b.Op(ir.OpLShr, ir.TI32, x, b.I32(n)), b.I32(n)))
		b.B.Ret()
		if _, err := opt.Run(b.F, opt.Options{Verify: true}); err != nil {
			t.Fatal(err)
		}
		if text := b.F.String(); strings.Contains(text, "shl") || strings.Contains(text, "lshr") {
			t.Errorf("shifts by %d are left:\n%s", n, text)
		}
		run := irtest.New(m)
		p := run.Alloc(8)
		binary.LittleEndian.PutUint32(run.Memory[p:], 0xffffffff)
		if _, err := run.Call(b.F, []int64{p}); err != nil {
			t.Fatal(err)
		}
		if got, want := binary.LittleEndian.Uint32(run.Memory[p+4:]), uint32(0xffffffff)<<n; got != want {
			t.Errorf("shifts by %d: %#x, want %#x", n, got, want)
		}
	}
}
