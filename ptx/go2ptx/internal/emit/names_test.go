package emit_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// A kernel's parameters keep their Go names in PTX, with some exceptions: names of instructions,
// names the module or the emitted code already uses, and names that PTX does not accept.
func TestParametersHaveTheirNamesInGo(t *testing.T) {
	names := []string{"k", "x", "rows_2", "min", "tile", "add1", "slot0", "arg", "größe", "_", "WARP_SZ", "vprintf"}
	m := &ir.Module{}
	m.Vars = []*ir.Var{{Name: "tile", Space: ir.Shared, Size: 256, Align: 16}}
	b := irtest.Kernel(m, "k", make([]ir.Mem, len(names))...)
	for i, name := range names {
		b.F.Params[i] = ir.Param{Name: name, Size: 8, Align: 8, Parts: []ir.Part{{Mem: ir.MPtr, Space: ir.Global}}}
	}
	var sum *ir.Value = b.I64(0)
	for i := range names[1:] {
		sum = b.Op(ir.OpAdd, ir.TI64, sum, b.Load(ir.M64, b.Param(i+1), 0))
	}
	b.Store(ir.M64, b.Param(0), 0, sum)
	b.B.Ret()
	src := text(t, m, emit.Options{})
	want := []string{"k_param_0", "x", "rows_2", "k_param_3", "k_param_4", "add1", "k_param_6", "k_param_7", "k_param_8", "k_param_9", "k_param_10", "k_param_11"}
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		mod, err := c.LoadModule(src)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		defer mod.Close()
		k, err := mod.Kernel("k")
		if err != nil {
			t.Fatal(err)
		}
		params, _ := k.Params()
		var got []string
		for _, p := range params {
			got = append(got, p.Name)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("the parameters are %v, want %v", got, want)
		}
	})
}
