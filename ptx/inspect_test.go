package ptx_test

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/ptx"
)

func inspect(t testing.TB, src string) *ptx.Inspection {
	t.Helper()
	return ptx.Inspect(parse(t, src))
}

func TestInspectKernels(t *testing.T) {
	i := inspect(t, testdata(t)["features.ptx"])
	k := i.Kernel("everything")
	if k == nil || len(i.Kernels) != 1 || i.Kernel("original") != nil || i.Function("original") == nil {
		t.Fatalf("kernels %+v, functions %+v", i.Kernels, i.Functions)
	}
	if k.Pos.Line != 30 || k.Doc != "Aggregates.\nTwo lines." || !k.Entry || k.Linkage != ptx.Visible {
		t.Errorf("%+v", k)
	}
	if len(k.Params) != 7 || k.Params[0].PtrSpace != ptx.GlobalSpace || k.ReqThreads != [3]int{32, 2, 1} || k.MaxCluster != 8 {
		t.Errorf("signature %+v", k.Signature)
	}
	if k.Shared != 20 || k.Local != 64 || k.DynamicShared || k.Stack != -1 {
		t.Errorf("memory %+v", k)
	}
	if !slices.Equal(k.Calls, []string{"original", "regArgs"}) || k.Indirect != 2 {
		t.Errorf("calls %v and %d", k.Calls, k.Indirect)
	}
	if !slices.Equal(k.Uses, []string{"bank2", "sampler", "texture"}) {
		t.Errorf("uses %v", k.Uses)
	}
	if k.Instructions != 33 || i.Instructions != 36 {
		t.Errorf("%d of %d instructions", k.Instructions, i.Instructions)
	}
}

func TestInspectMemory(t *testing.T) {
	i := inspect(t, header+lines(
		".shared .align 8 .b8 tile[12];",
		".shared .u64 one;",
		".shared .u32 unused[1000];",
		".extern .shared .align 16 .b8 dynamic[];",
		".const .u32 c; .const .f64 d; .global .u8 g[3]; .global .u32 h = 1;",
		".func leaf() { .local .b8 a[16]; .shared .u32 s; st.shared.u32 [one], 1; ret; }",
		".func middle() { .local .b8 a[100]; call leaf; ret; }",
		".func again() { .local .b8 a[4]; call again; ret; }",
		".func ping() { call pong; ret; } .func pong() { call ping; ret; }",
		".entry all() { .local .b8 a[8]; .shared .u16 own; mov.u32 %r1, tile; mov.u32 %r1, dynamic; call middle; call leaf; ret; }",
		".entry none() { ret; }",
		".entry hides() { .local .u32 tile; .shared .b8 dynamic[4]; st.local.u32 [tile], 1; st.shared.b8 [dynamic], 1; ret; }",
		".entry round() { call ping; ret; }",
		".entry elsewhere() { .local .u32 x; call unknown; ret; }"))
	for _, want := range []struct {
		name         string
		shared       int64
		dynamic      bool
		local, stack int64
	}{
		{"leaf", 12, false, 16, 16}, {"middle", 0, false, 100, 116}, {"again", 0, false, 4, -1},
		{"all", 26, true, 8, 124}, {"none", 0, false, 0, 0}, {"hides", 4, false, 4, 4},
		{"round", 0, false, 0, -1}, {"elsewhere", 0, false, 4, 4},
	} {
		f := i.Kernel(want.name)
		if f == nil {
			f = i.Function(want.name)
		}
		if f.Shared != want.shared || f.DynamicShared != want.dynamic || f.Local != want.local || f.Stack != want.stack {
			t.Errorf("%s: shared %d, dynamic %v, local %d, stack %d, want %+v", want.name, f.Shared, f.DynamicShared, f.Local, f.Stack, want)
		}
	}
	if i.Const != 12 || i.Global != 7 {
		t.Errorf("%d bytes const, %d global", i.Const, i.Global)
	}
}

func TestInspectSymbols(t *testing.T) {
	i := inspect(t, header+lines(
		".extern .func vprintf;",
		".extern .func (.param .b32 r) mine(.param .b64 a);",
		".extern .global .u32 there[4];",
		".extern .const .u32 later;",
		".visible .const .u32 later = 4;",
		".func forward();",
		".global .attribute(.managed) .u32 m;",
		".weak .global .f64 w = 1.0;",
		".func forward() { ret; }",
		".extern .func vprintf;"))
	var externs []string
	for _, e := range i.Externs {
		externs = append(externs, e.Name)
		if e.Function != (e.Name != "there") || e.Builtin != (e.Name == "vprintf") {
			t.Errorf("%+v", e)
		}
	}
	if !slices.Equal(externs, []string{"vprintf", "mine", "there"}) || i.Externs[2].Size != 16 || i.Externs[2].Space != ptx.GlobalSpace {
		t.Errorf("externs %+v", i.Externs)
	}
	var vars []string
	for _, v := range i.Variables {
		vars = append(vars, v.Name)
		if v.Managed != (v.Name == "m") || v.Initialised != (v.Name != "m") {
			t.Errorf("%+v", v)
		}
	}
	if !slices.Equal(vars, []string{"later", "m", "w"}) {
		t.Errorf("variables %v", vars)
	}
}

func TestInspectFeatures(t *testing.T) {
	i := inspect(t, header+lines(".entry k() {",
		"fma.rn.f64 a, b, c, d;", "add.f16x2 a, b, c;", "fma.rn.bf16x2 a, b, c, d;", "cvt.rn.satfinite.e4m3x2.f32 a, b, c;",
		"ld.global.f64 a, [b];", "shfl.sync.idx.b32 a, b, c, d, e;", "redux.sync.add.s32 a, b, c;",
		"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {a}, {b}, {c}, {d};",
		"wgmma.fence.sync.aligned;", "tcgen05.wait::ld.sync.aligned;", "cp.async.ca.shared.global [a], [b], 16;",
		"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a], [b], c, [d];",
		"barrier.cluster.arrive;", "mov.u64 a, %clock64;", "mov.u32 a, %cluster_ctarank;", "atom.global.add.f64 a, [b], c;",
		"tex.2d.v4.f32.s32 {a, b, c, d}, [t, {e, f}];", "mov.u32 a, %pm0;", "ret; }"))
	got := map[string]string{}
	for _, f := range i.Features {
		got[f.Name] = f.Target
		if f.Count < 1 || f.First.Line < 5 {
			t.Errorf("%+v", f)
		}
	}
	for name, target := range map[string]string{
		"double precision": "", "half precision arithmetic": "sm_53", "bfloat16": "sm_80", "8-bit floating point": "sm_89",
		"shuffles": "sm_30", "warp reductions (redux)": "sm_80", "tensor cores (mma)": "sm_70", "tensor cores (wgmma)": "sm_90a",
		"tensor cores (tcgen05)": "sm_100a", "asynchronous copies": "sm_80", "bulk asynchronous copies": "sm_90",
		"thread block clusters": "sm_90", "clocks": "", "cluster registers": "sm_90", "atomics": "", "atomics on doubles": "sm_60",
		"textures": "", "performance counters": "", "barriers": "",
	} {
		if at, ok := got[name]; !ok || at != target {
			t.Errorf("%s: %q, %v, want %q", name, at, ok, target)
		}
		delete(got, name)
	}
	if len(got) != 0 {
		t.Errorf("also found %v", got)
	}
	for _, f := range inspect(t, header+".entry k() { ld.global.f64 a, [b]; mov.f64 a, b; ret; }").Features {
		t.Errorf("moving values is %+v", f)
	}
}

// The summaries of two files must match the golden files. PURECUDA_UPDATE=1 rewrites the golden
// files.
func TestSummary(t *testing.T) {
	for _, name := range []string{"compiler.ptx", "features.ptx"} {
		m, err := ptx.Parse(name, []byte(testdata(t)[name]))
		if err != nil {
			t.Fatal(err)
		}
		got := ptx.Inspect(m).String()
		file := "testdata/" + strings.TrimSuffix(name, ".ptx") + ".summary.txt"
		if os.Getenv("PURECUDA_UPDATE") != "" {
			if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))) {
			t.Errorf("%s: the report is now\n%s", name, got)
		}
	}
}

type fullDisk struct{}

var errFull = errors.New("full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestSummaryReportsTheWritersError(t *testing.T) {
	if err := inspect(t, header).Summary(fullDisk{}); !errors.Is(err, errFull) {
		t.Error(err)
	}
	if s := inspect(t, header).String(); !strings.HasPrefix(s, "test.ptx: PTX 8.0 for sm_80") {
		t.Error(s)
	}
	if s := ptx.Inspect(&ptx.Module{}).String(); !strings.HasPrefix(s, "module: ") || !strings.Contains(s, "no target") || !strings.Contains(s, "no .version") {
		t.Error(s)
	}
}

// Parsing and inspecting ten megabytes must take seconds, not minutes, even on a slow machine.
func TestInspectIsQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("how the time grows with the text is the same everywhere: without -short")
	}
	m, err := ptx.Parse("", synthetic(10<<20))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	i := ptx.Inspect(m)
	spent := time.Since(start)
	t.Logf("%d instructions in %d kernels: %v", i.Instructions, len(i.Kernels), spent)
	if spent > 20*time.Second {
		t.Errorf("inspecting took %v", spent)
	}
}

func BenchmarkInspect1MB(b *testing.B) {
	src := synthetic(1 << 20)
	m, err := ptx.Parse("", src)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		ptx.Inspect(m)
	}
}

// FuzzInspect checks that Inspect never panics, whether or not the tree has errors.
func FuzzInspect(f *testing.F) {
	seed(f)
	f.Add([]byte(".reg .b32 a<3>, a1<4>; .reg .pred p; L: @p bra L; call (a1), f, (a12); t: .branchtargets L, M; brx.idx a0, t; mov.b32 a1.x, {a2, a11};"))
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, text := range [][]byte{src, []byte(header + ".entry k() {\n" + string(src) + "\n}")} {
			m, _ := ptx.Parse("fuzz", text)
			i := ptx.Inspect(m)
			_ = i.String()
			_ = i.Needs.Check(13000, 9, 0)
			for _, k := range i.Kernels {
				if r := k.Registers; r.Live < -1 || r.LivePreds < -1 {
					t.Errorf("%+v", r)
				}
			}
		}
	})
}

func TestInspectPathologicalText(t *testing.T) {
	for name, src := range pathological(200_000) {
		m, _ := ptx.Parse("", []byte(src))
		start := time.Now()
		_ = ptx.Inspect(m).String()
		if spent := time.Since(start); spent > 5*time.Second {
			t.Errorf("%s: %v", name, spent)
		}
	}
}
