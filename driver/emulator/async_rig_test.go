package emulator_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// threadCase is a kernel whose threads each store one word, which must be the same on the emulator
// and on a GPU. The body finds its thread's index in %id and %me and the input in %in. It leaves
// its result in %r0.
type threadCase struct {
	name    string
	decls   string // variables in shared memory
	body    string
	perf    string // performance directives
	target  string // of the module, sm_90 if empty
	grid    driver.Dim3
	block   uint32
	cluster driver.Dim3
	in      []uint32
	want    func(i int) uint32
	wantIn  func(i int) uint32 // expected input after the run; nil: unchanged
}

func (k *threadCase) text() string {
	target := k.target
	if target == "" {
		target = "sm_90"
	}
	return fmt.Sprintf(`.version 8.6
.target %s
.address_size 64
.visible .entry test(.param .u64 out, .param .u64 in) %s
{
	.reg .b32 %%r<32>; .reg .b64 %%rd<32>; .reg .pred %%p<8>; .reg .b16 %%h<4>;
	.reg .u32 %%id, %%me, %%tries, %%rank; .reg .u64 %%out, %%in; .reg .pred %%done;
	%s
	ld.param.u64 %%out, [out]; ld.param.u64 %%in, [in];
	mov.u32 %%me, %%tid.x; mov.u32 %%r1, %%ntid.x; mov.u32 %%r2, %%ctaid.x;
	mov.u32 %%r3, %%ctaid.y; mov.u32 %%r4, %%nctaid.x; mad.lo.u32 %%r2, %%r3, %%r4, %%r2;
	mad.lo.u32 %%id, %%r2, %%r1, %%me;
	mul.wide.u32 %%rd0, %%id, 4; add.u64 %%out, %%out, %%rd0;
	mov.u32 %%rank, %%cluster_ctarank;
	mov.u32 %%r0, 0;
	%s
END:
	st.global.u32 [%%out], %%r0;
	ret;
}`, target, k.perf, k.decls, k.body)
}

// waitFor returns PTX that waits for a phase of an mbarrier object to end. It gives up with 0xdead.
func waitFor(bar string, parity int, label string) string {
	return fmt.Sprintf(`
	mov.u32 %%tries, 0;
W%[3]s:
	mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %%done, [%[1]s], %[2]d;
	@%%done bra D%[3]s;
	add.u32 %%tries, %%tries, 1;
	setp.lt.u32 %%done, %%tries, 20000;
	@%%done bra W%[3]s;
	mov.u32 %%r0, 0xdead;
	bra END;
D%[3]s:
`, bar, parity, label)
}

const clusterSync = "\n	barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"

// run runs the case on a context and compares the result.
func (k *threadCase) run(t *testing.T, c *driver.Context) {
	m, err := c.LoadModule([]byte(k.text()))
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer closing(t, m)
	f, err := m.Kernel("test")
	if err != nil {
		t.Fatal(err)
	}
	n := int(k.grid.Count()) * int(k.block)
	out, in := words(t, c, make([]uint32, n)), words(t, c, append([]uint32{0}, k.in...)[min(1, len(k.in)):])
	defer closing(t, out)
	defer closing(t, in)
	l, err := f.Prepare(driver.LaunchConfig{Grid: k.grid, Block: driver.Dim3{X: k.block, Y: 1, Z: 1}, Cluster: k.cluster}, out, in)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, s)
	if err := s.Do(l); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	compareWords(t, "thread", out, n, k.want)
	if k.wantIn != nil {
		compareWords(t, "input", in, len(k.in), k.wantIn)
	}
}

func closing(t *testing.T, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func words(t *testing.T, c *driver.Context, v []uint32) *driver.Buffer[uint32] {
	t.Helper()
	b, err := driver.Alloc[uint32](c, len(v))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.CopyFrom(v); err != nil {
		t.Fatal(err)
	}
	return b
}

func compareWords(t *testing.T, what string, b *driver.Buffer[uint32], n int, want func(i int) uint32) {
	t.Helper()
	got := make([]uint32, n)
	if err := b.CopyTo(got); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if w := want(i); v != w {
			t.Errorf("%s %d: %#x, want %#x", what, i, v, w)
			return
		}
	}
}

// runCases runs each case on the emulator, also in other orders and with copies delayed as long as
// possible, and on the GPU.
func runCases(t *testing.T, cases []threadCase) {
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			gputest.Each(t, func(t *testing.T, c *driver.Context) { k.run(t, c) })
			for seed := range uint64(4) {
				cfg := emulator.Config{Seed: seed + 1}
				gputest.OnEmulator(t, cfg, func(t *testing.T, c *driver.Context) { k.run(t, c) })
			}
			k.runChecked(t, 0)
			k.runChecked(t, 3)
		})
	}
}

// runChecked runs the case with all checks of kernels and with counts. Correct code must not be
// reported.
func (k *threadCase) runChecked(t *testing.T, seed uint64) {
	t.Helper()
	e := emulator.New(emulator.Config{
		Seed: seed, CostModel: costs(),
		Check: emulator.CheckBarriers | emulator.CheckSharedRaces | emulator.CheckGlobalRaces | emulator.CheckUninitialized,
	})
	k.run(t, gputest.Context(t, gputest.Driver(t, e)))
	for _, f := range e.Findings() {
		t.Errorf("seed %d: %v", seed, f)
	}
}

func blocks(n uint32) driver.Dim3 { return driver.Dim3{X: n, Y: 1, Z: 1} }

func sequence(n int) []uint32 {
	v := make([]uint32, n)
	for i := range v {
		v[i] = uint32(i + 1)
	}
	return v
}

func always(v uint32) func(int) uint32 { return func(int) uint32 { return v } }
