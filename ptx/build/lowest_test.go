package build_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
)

// Build must choose the lowest version and target that support every part of the module.
func TestLowestVersionAndTarget(t *testing.T) {
	for _, c := range []struct {
		name            string
		add             func(m *build.Module, k *build.Func)
		version, target string
	}{
		{"nothing", func(*build.Module, *build.Func) {}, "4.1", "sm_52"},
		{"shuffle", func(_ *build.Module, k *build.Func) {
			k.Op("shfl.sync.bfly.b32", k.Reg(ptx.B32), k.Reg(ptx.B32), build.Int(1), build.Int(31), build.Int(-1))
		}, "6.0", "sm_52"},
		{"reduction", func(_ *build.Module, k *build.Func) {
			k.Op("redux.sync.add.s32", k.Reg(ptx.B32), k.Reg(ptx.B32), build.Int(-1))
		}, "7.0", "sm_80"},
		{"the lower of two forms", func(_ *build.Module, k *build.Func) {
			k.Op("cvt.rn.f16x2.e4m3x2", k.Reg(ptx.B32), k.Reg(ptx.B16))
		}, "8.1", "sm_89"},
		{"the form that the operands need", func(_ *build.Module, k *build.Func) {
			k.Op("mbarrier.arrive.b64", k.Reg(ptx.B64), k.Reg(ptx.B64).At(0), build.Int(2))
		}, "7.8", "sm_90"},
		{"the form without that operand", func(_ *build.Module, k *build.Func) {
			k.Op("mbarrier.arrive.b64", k.Reg(ptx.B64), k.Reg(ptx.B64).At(0))
		}, "7.0", "sm_80"},
		{"a modifier that old assemblers ignore", func(_ *build.Module, k *build.Func) {
			r := k.Reg(ptx.B16)
			k.Op("fma.rn.oob.f16", r, r, r, r)
		}, "8.1", "sm_90"},
		{"architecture-specific", func(_ *build.Module, k *build.Func) { k.Op("wgmma.fence.sync.aligned") }, "8.0", "sm_90a"},
		{"modifier", func(_ *build.Module, k *build.Func) {
			k.Op("atom.global.sys.add.u32", k.Reg(ptx.B32), k.Reg(ptx.B64).At(0), build.Int(1))
		}, "5.0", "sm_60"},
		{"special register", func(_ *build.Module, k *build.Func) {
			k.Op("mov.u32", k.Reg(ptx.B32), build.Special("%cluster_ctarank"))
		}, "7.8", "sm_90"},
		{"register type", func(_ *build.Module, k *build.Func) { k.Reg(ptx.F16x2) }, "4.2", "sm_53"},
		{"128-bit register", func(_ *build.Module, k *build.Func) { k.Reg(ptx.B128) }, "8.3", "sm_70"},
		{"directive", func(_ *build.Module, k *build.Func) { k.ReqNCTAPerCluster(2, 1, 1) }, "7.8", "sm_90"},
		{"common", func(m *build.Module, _ *build.Func) { m.Global("c", ptx.B32, 0).Linkage(ptx.Common) }, "5.0", "sm_52"},
		{"many parameters", func(_ *build.Module, k *build.Func) { k.Param("p", ptx.B8).Array(5000) }, "8.1", "sm_70"},
		{"inlined positions", func(m *build.Module, k *build.Func) {
			f := m.File("a.go")
			k.LocInlined(build.Pos{File: f, Line: 1}, "f", build.Pos{File: f, Line: 2})
		}, "7.2", "sm_52"},
		{"two features", func(_ *build.Module, k *build.Func) {
			k.Op("wgmma.fence.sync.aligned")
			k.Reg(ptx.B128)
		}, "8.3", "sm_90a"},
	} {
		m := build.New(build.Config{})
		c.add(m, m.Kernel("k"))
		if header := firstLines(text(t, m)); header != ".version "+c.version+" .target "+c.target {
			t.Errorf("%s: %s; want PTX %s for %s", c.name, header, c.version, c.target)
		}
	}
}

func firstLines(text string) string {
	lines := strings.SplitN(text, "\n", 3)
	return lines[0] + " " + lines[1]
}

// Config must raise or fix the header. If the header is fixed, it is an error if the code needs a
// newer version or target.
func TestConfig(t *testing.T) {
	shuffle := func(k *build.Func) {
		k.Op("shfl.sync.bfly.b32", k.Reg(ptx.B32), k.Reg(ptx.B32), build.Int(1), build.Int(31), build.Int(-1))
	}
	for _, c := range []struct {
		config build.Config
		header string
		err    string
	}{
		{build.Config{Target: "sm_80"}, ".version 7.0 .target sm_80", ""},
		{build.Config{Target: "sm_90a"}, ".version 8.0 .target sm_90a", ""},
		{build.Config{Target: "sm_100f"}, ".version 8.8 .target sm_100f", ""},
		{build.Config{MinTarget: "sm_75"}, ".version 6.3 .target sm_75", ""},
		{build.Config{MinTarget: "sm_90a"}, ".version 8.0 .target sm_90a", ""},
		{build.Config{MinTarget: "sm_30"}, ".version 6.0 .target sm_30", ""},
		{build.Config{Version: ptx.Version{Major: 8, Minor: 4}}, ".version 8.4 .target sm_52", ""},
		{build.Config{Version: ptx.Version{Major: 8, Minor: 4}, Target: "sm_70"}, ".version 8.4 .target sm_70", ""},
		{build.Config{Debug: true}, ".version 6.0 .target sm_52, debug", ""},
		{build.Config{Version: ptx.Version{Major: 5, Minor: 0}}, "", "needs PTX 6.0"},
		{build.Config{Target: "sm_20"}, "", "shfl.sync.bfly.b32 needs PTX 6.0 and sm_30; the text is PTX"},
		{build.Config{Target: "sm_90", Version: ptx.Version{Major: 7}}, "", "target sm_90 needs PTX 7.8; the module is PTX 7.0"},
		{build.Config{Target: "hopper"}, "", "hopper is not a target"},
	} {
		m := build.New(c.config)
		shuffle(m.Kernel("k"))
		b, err := m.Text()
		switch {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%+v: error %v; want %s", c.config, err, c.err)
		case c.err == "" && err != nil:
			t.Errorf("%+v: %v", c.config, err)
		case c.err == "" && firstLines(string(b)) != c.header:
			t.Errorf("%+v: %s; want %s", c.config, firstLines(string(b)), c.header)
		}
	}
	if b := text(t, build.New(build.Config{AddressSize: 32})); !strings.Contains(b, ".address_size 32\n") {
		t.Errorf("AddressSize 32: %s", b)
	}
	m := build.New(build.Config{Version: ptx.Version{Major: 7, Minor: 1}})
	m.Kernel("k").LocInlined(build.Pos{File: m.File("a"), Line: 1}, "f", build.Pos{File: 1, Line: 2})
	if _, err := m.Text(); err == nil || !strings.Contains(err.Error(), "LocInlined needs PTX 7.2") {
		t.Errorf("an inlined position in PTX 7.1: %v", err)
	}
}

// A function must be declared before the first function or variable that refers to it.
func TestFunctionsAreDeclaredBeforeTheirUse(t *testing.T) {
	m := build.New(build.Config{})
	k := m.Kernel("k")
	early, late := m.Func("early"), m.Func("late")
	byTable := m.Func("by_table")
	k.Call(early, nil)
	late.Call(late, nil)
	late.Call(early, nil)
	m.Global("table", ptx.U64, 1).Init(byTable)
	got := text(t, m)
	for name, n := range map[string]int{"early": 2, "late": 1, "by_table": 2} {
		if strings.Count(got, ".func "+name+"(") != n {
			t.Errorf("%s is declared and defined %d times, want %d:\n%s", name, strings.Count(got, ".func "+name+"("), n, got)
		}
	}
	if strings.Index(got, ".func by_table();") > strings.Index(got, "table[1]") {
		t.Errorf("the table precedes the function in it:\n%s", got)
	}
}
