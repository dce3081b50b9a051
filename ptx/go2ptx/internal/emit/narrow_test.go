package emit_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// A conversion writes its result to the register of the result.
func TestWiderFloatsNeedNoCopies(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 2)
	for i, k := range []ir.Mem{ir.MF16, ir.MBF16} {
		x := b.Load(k, p, int64(8*i))
		b.Store(ir.MF32, p, int64(8*i), b.Op(ir.OpFConv, ir.TF32, x))
	}
	b.B.Ret()
	if src := string(text(t, m, emit.Options{})); strings.Contains(src, "mov.f32") || strings.Contains(src, "mov.b32") {
		t.Errorf("copies:\n%s", src)
	}
	expect(t, m, 1, []uint64{0x3c00, 0x3f80}, []uint64{0x3f800000, 0x3f800000})
}
