package isa_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/isa"
)

// Lowest must return the lowest version and target at or above the module's own.
func TestLowest(t *testing.T) {
	for _, c := range []struct{ header, line, version, target, err string }{
		{"", "ret;", "4.1", "sm_52", ""},
		{".version 3.0\n.target sm_30\n", "ret;", "3.0", "sm_30", ""},
		{".version 3.0\n.target sm_30\n", "bar.warp.sync 1;", "6.0", "sm_30", ""},
		{".version 7.0\n.target sm_80, debug\n", "ret;", "7.0", "sm_80", ""},
		{".version 7.0\n.target sm_80\n", "wgmma.fence.sync.aligned;", "8.0", "sm_90a", ""},
		{".version 7.8\n.target sm_90\n", "wgmma.fence.sync.aligned;", "8.0", "sm_90a", ""},
		{".version 8.0\n.target sm_90a\n", "getctarank.u64 %f1, 1;", "8.0", "sm_90a", "operand"},
		{".version 8.8\n.target sm_120f\n", "ret;", "8.8", "sm_120f", ""},
		{".version 4.1\n.target sm_52\n", "mad.f32 %f1, %f1, %f1, %f1;", "4.1", "sm_52", "mad.f32 is not available from PTX 3.2 and sm_20 on"},
		{".version 4.1\n.target sm_52\n", "bar.warp.sync 1.5;", "6.0", "sm_52", "operand 1 is a floating-point constant"},
	} {
		m, err := ptx.Parse("", []byte(".version 4.1\n.target sm_52\n.entry k() { .reg .f32 %f<2>; "+c.line+" }"))
		if err != nil {
			t.Fatal(err)
		}
		own, err := ptx.Parse("", []byte(c.header+".visible .global .u32 x;"))
		if c.header == "" {
			own, err = &ptx.Module{}, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		m.Version, m.Targets = own.Version, own.Targets
		v, target, err := isa.Lowest(m)
		if v.String() != c.version || target.String() != c.target {
			t.Errorf("%s%s: PTX %v for %v; want %s for %s", c.header, c.line, v, target, c.version, c.target)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s%s: error %v; want %s", c.header, c.line, err, c.err)
		}
	}
	if v, target, err := isa.Lowest(nil); v != (ptx.Version{}) || target.IsValid() || err != nil {
		t.Errorf("of no module: %v, %v, %v", v, target, err)
	}
}
