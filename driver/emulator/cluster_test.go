package emulator_test

import (
	"fmt"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestClustersShareMemory(t *testing.T) {
	square := driver.Dim3{X: 2, Y: 2, Z: 1}
	const shared = ".shared .align 8 .b32 word[64]; .shared .align 8 .b64 bar;\n"
	const explicit = "mov.pred %p1, %is_explicit_cluster; selp.u32 %r0, 1, 0, %p1;"
	const own = `
	mul.lo.u32 %r5, %me, 4; mov.u32 %r6, word; add.u32 %r6, %r6, %r5; mad.lo.u32 %r7, %rank, 1000, %me; st.shared.u32 [%r6], %r7;
`
	runCases(t, []threadCase{
		{name: "registers of a cluster", grid: driver.Dim3{X: 4, Y: 2, Z: 1}, block: 1, cluster: square, body: `
	mov.u32 %r1, %cluster_ctaid.x; mov.u32 %r2, %cluster_ctaid.y; mov.u32 %r3, %cluster_nctaid.x; mov.u32 %r4, %cluster_nctarank;
	mov.u32 %r5, %clusterid.x; mov.u32 %r6, %nclusterid.x; mov.u32 %r7, %nclusterid.y; mov.pred %p1, %is_explicit_cluster;
	mad.lo.u32 %r0, %r1, 10, %r2; mad.lo.u32 %r0, %r0, 10, %r3; mad.lo.u32 %r0, %r0, 10, %r4; mad.lo.u32 %r0, %r0, 10, %r5;
	mad.lo.u32 %r0, %r0, 10, %r6; mad.lo.u32 %r0, %r0, 10, %r7; mad.lo.u32 %r0, %r0, 10, %rank; selp.u32 %r8, 1, 0, %p1; mad.lo.u32 %r0, %r0, 10, %r8;
`, want: func(i int) uint32 {
			x, y, v := i%4, i/4, 0
			for _, d := range []int{x % 2, y, 2, 4, x / 2, 2, 1, y*2 + x%2, 1} {
				v = v*10 + d
			}
			return uint32(v)
		}},
		{name: "registers without a cluster", grid: blocks(3), block: 1, body: `
	mov.u32 %r1, %cluster_nctarank; mov.u32 %r2, %nclusterid.x; mov.u32 %r3, %clusterid.x;
	mad.lo.u32 %r0, %r1, 10, %r2; mad.lo.u32 %r0, %r0, 10, %r3; mad.lo.u32 %r0, %r0, 10, %rank;
`, want: func(i int) uint32 { return uint32(1300 + 10*i) }},
		{name: "a cluster of one block that was asked for", grid: blocks(2), block: 1, cluster: blocks(1), body: explicit, want: always(1)},
		{name: "no cluster was asked for", grid: blocks(2), block: 1, body: explicit, want: always(0)},
		{name: "sizes of shared memory", decls: ".shared .align 16 .b8 s[1024]; .shared .align 8 .b64 bar;\n", grid: blocks(1), block: 1, body: `
	mov.u32 %r5, s; st.volatile.shared.u32 [%r5+1020], 0; mbarrier.init.shared.b64 [bar], 1;
	mov.u32 %r6, %total_smem_size; mov.u32 %r7, %aggr_smem_size; mad.lo.u32 %r0, %r7, 0x10000, %r6;`, want: always(0x08080480)},
		{name: "loads from every other block", decls: shared, grid: driver.Dim3{X: 4, Y: 2, Z: 1}, block: 64, cluster: square, body: own + clusterSync + `
	mov.u32 %r9, 0;
L:	mapa.shared::cluster.u32 %r10, %r6, %r9;
	ld.shared::cluster.u32 %r11, [%r10];
	mad.lo.u32 %r0, %r0, 3, %r11;
	add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 4; @%p1 bra L;` + clusterSync, want: func(i int) uint32 {
			v, me := uint32(0), uint32(i%64)
			for r := range uint32(4) {
				v = v*3 + r*1000 + me
			}
			return v
		}},
		{name: "generic addresses", decls: shared, grid: blocks(2), block: 64, cluster: blocks(2), body: own + clusterSync + `
	xor.b32 %r8, %rank, 1;
	mov.u64 %rd1, word; cvta.shared.u64 %rd1, %rd1; mapa.u64 %rd2, %rd1, %r8;
	sub.u32 %r9, 63, %me; mul.wide.u32 %rd3, %r9, 4; add.u64 %rd2, %rd2, %rd3;
	ld.u32 %r0, [%rd2];
	getctarank.u64 %r10, %rd2; mad.lo.u32 %r0, %r10, 10000, %r0;
	isspacep.shared %p1, %rd2; isspacep.shared::cluster %p2, %rd2; isspacep.shared::cta %p3, %rd1; isspacep.global %p4, %rd2; isspacep.shared::cta %p5, %rd2;
	selp.u32 %r11, 0, 100000, %p1; add.u32 %r0, %r0, %r11; selp.u32 %r11, 100000, 0, %p2; add.u32 %r0, %r0, %r11;
	selp.u32 %r11, 200000, 0, %p3; add.u32 %r0, %r0, %r11; selp.u32 %r11, 400000, 0, %p4; add.u32 %r0, %r0, %r11;
	selp.u32 %r11, 800000, 0, %p5; add.u32 %r0, %r0, %r11;` + clusterSync, want: func(i int) uint32 {
			return uint32(400000 + (i/64^1)*11000 + 63 - i%64)
		}},
		{name: "stores and atomics of all blocks", decls: shared, grid: blocks(8), block: 64, cluster: blocks(8), body: `
	mul.lo.u32 %r5, %me, 4; mov.u32 %r6, word; add.u32 %r6, %r6, %r5; st.shared.u32 [%r6], 0;` + clusterSync + `
	mov.u32 %r9, 0;
L:	mapa.shared::cluster.u32 %r10, %r6, %r9;
	atom.shared::cluster.add.u32 %r11, [%r10], %rank;
	red.relaxed.cluster.shared::cluster.add.u32 [%r10], 100;
	add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 8; @%p1 bra L;` + clusterSync + `
	ld.shared.u32 %r0, [%r6];
	mov.u32 %r12, word; mapa.shared::cluster.u32 %r13, %r12, 3; add.u32 %r13, %r13, 128;` + clusterSync + `
	setp.eq.u32 %p2, %id, 0; @%p2 st.shared::cluster.u32 [%r13], 77;` + clusterSync + `
	setp.eq.u32 %p3, %me, 32; @%p3 ld.shared.u32 %r0, [%r6];`, want: func(i int) uint32 {
			if i == 3*64+32 {
				return 77
			}
			return 828
		}},
		{name: "arrivals in other blocks", decls: shared, grid: blocks(4), block: 32, cluster: blocks(4), body: `
	setp.eq.u32 %p1, %me, 0; @%p1 mbarrier.init.shared::cta.b64 [bar], 4; fence.mbarrier_init.release.cluster;` + clusterSync + `
	setp.ge.u32 %p2, %me, 4; @%p2 bra WAIT;
	mov.u32 %r7, bar; mapa.shared::cluster.u32 %r8, %r7, %me;
	mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8];
WAIT:` + waitFor("bar", 0, "a") + "mov.u32 %r0, 5;" + clusterSync, want: always(5)},
		{name: "to arrive and to wait later", decls: shared, grid: blocks(2), block: 64, cluster: blocks(2), body: own + `
	barrier.cluster.arrive;
	mul.lo.u32 %r20, %me, 3;
	barrier.cluster.wait;
	xor.b32 %r8, %rank, 1; mapa.shared::cluster.u32 %r10, %r6, %r8; ld.shared::cluster.u32 %r11, [%r10];
	add.u32 %r0, %r11, %r20;
	barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire;`, want: func(i int) uint32 { return uint32((i/64^1)*1000 + i%64*4) }},
		{name: "threads that have exited are not waited for", decls: shared, grid: blocks(2), block: 64, cluster: blocks(2), body: own + `
	st.global.u32 [%out], 9;
	setp.ge.u32 %p1, %me, 32; setp.eq.and.u32 %p1, %rank, 1, %p1; @%p1 exit;
	barrier.cluster.arrive; barrier.cluster.wait;
	mov.u32 %r0, 9;`, want: always(9)},
		{name: "the kernel's own cluster", perf: ".reqnctapercluster 4, 1, 1", grid: blocks(8), block: 32, body: clusterSync + `
	mov.u32 %r1, %cluster_nctarank; mad.lo.u32 %r0, %r1, 10, %rank;`, want: func(i int) uint32 { return uint32(40 + i/32%4) }},
		{name: "a cluster of one block by default", decls: shared, grid: blocks(2), block: 32, body: own + clusterSync + `
	mapa.shared::cluster.u32 %r10, %r6, 0; ld.shared::cluster.u32 %r0, [%r10];`, want: func(i int) uint32 { return uint32(i % 32) }},
	})
}

// Clusters of sixteen blocks must fail unless the function allows non-portable sizes, because not
// every device supports clusters that large.
func TestLargeClustersMustBeAllowed(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := threadCase{grid: blocks(16), block: 32, cluster: blocks(16), body: clusterSync + "mov.u32 %r0, %cluster_nctarank;"}
		m, err := c.LoadModule([]byte(k.text()))
		if err != nil {
			t.Fatal(err)
		}
		defer closing(t, m)
		f, err := m.Kernel("test")
		if err != nil {
			t.Fatal(err)
		}
		out := words(t, c, make([]uint32, 16*32))
		defer closing(t, out)
		cfg := driver.LaunchConfig{Grid: k.grid, Block: blocks(32), Cluster: k.cluster}
		if _, err := f.Prepare(cfg, out, out); err == nil {
			t.Error("a cluster of 16 blocks was accepted without being allowed")
		}
		if err := f.SetAttribute(cu.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1); err != nil {
			t.Fatal(err)
		}
		l, err := f.Prepare(cfg, out, out)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.LegacyStream().Do(l); err != nil {
			t.Fatal(err)
		}
		if err := c.Synchronize(t.Context()); err != nil {
			t.Fatal(err)
		}
		compareWords(t, "thread", out, 16*32, always(16))
	})
}

// A kernel with programmatic serialization may start early. After griddepcontrol.wait, it must see
// all writes of the previous kernel.
func TestProgrammaticLaunchesSeeWhatCameBefore(t *testing.T) {
	k := threadCase{grid: blocks(64), block: 128, body: `
	griddepcontrol.launch_dependents;
	griddepcontrol.wait;
	mul.wide.u32 %rd1, %id, 4; add.u64 %rd1, %in, %rd1;
	xor.b32 %r5, %id, 8191; mul.wide.u32 %rd2, %r5, 4;
	ld.global.u32 %r6, [%rd1]; add.u32 %r0, %r6, 1;`}
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m, err := c.LoadModule([]byte(k.text()))
		if err != nil {
			t.Fatalf("%+v", err)
		}
		defer closing(t, m)
		f, err := m.Kernel("test")
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		defer closing(t, s)
		a, b := words(t, c, make([]uint32, 8192)), words(t, c, make([]uint32, 8192))
		defer closing(t, a)
		defer closing(t, b)
		for range 10 {
			l, err := f.Prepare(driver.LaunchConfig{Grid: k.grid, Block: blocks(128), Programmatic: true}, b, a)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Do(l); err != nil {
				t.Fatal(err)
			}
			a, b = b, a
		}
		if err := s.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		compareWords(t, "element", a, 8192, always(10))
	})
}

func TestKernelsBindTheirClusters(t *testing.T) {
	r := newRig(t)
	for _, k := range []struct {
		perf          string
		grid, cluster uint32
		nonPortable   bool
		want          cu.CUresult
	}{
		{"", 18, 9, true, cu.CUDA_SUCCESS},
		{"", 17, 17, true, cu.CUDA_ERROR_INVALID_CLUSTER_SIZE},
		{"", 9, 9, false, cu.CUDA_ERROR_INVALID_CLUSTER_SIZE},
		{"", 3, 2, false, cu.CUDA_ERROR_INVALID_CLUSTER_SIZE},
		{".reqnctapercluster 2, 1, 1", 4, 4, false, cu.CUDA_ERROR_INVALID_CLUSTER_SIZE},
		{".reqnctapercluster 2, 1, 1", 3, 0, false, cu.CUDA_ERROR_INVALID_CLUSTER_SIZE},
		{".reqnctapercluster 2, 1, 1", 4, 0, false, cu.CUDA_SUCCESS},
		{".maxclusterrank 2", 4, 4, false, cu.CUDA_ERROR_INVALID_CLUSTER_SIZE},
		{".maxclusterrank 4", 4, 4, false, cu.CUDA_SUCCESS},
		{".explicitcluster", 4, 0, false, cu.CUDA_ERROR_INVALID_CLUSTER_SIZE},
		{".explicitcluster", 4, 2, false, cu.CUDA_SUCCESS},
	} {
		f := r.function(r.module(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() "+k.perf+" { ret; }"), "k")
		if k.nonPortable {
			r.ok(r.CuFuncSetAttribute(f, cu.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1))
		}
		attrs := make([]cu.CUlaunchAttribute, 1)
		attrs[0].Id = cu.CU_LAUNCH_ATTRIBUTE_IGNORE
		if k.cluster != 0 {
			attrs[0].Id = cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
			*attrs[0].Value.ClusterDim() = cu.CUlaunchAttributeValue_ClusterDim{X: k.cluster, Y: 1, Z: 1}
		}
		cfg := cu.CUlaunchConfig{GridDimX: k.grid, GridDimY: 1, GridDimZ: 1, BlockDimX: 32, BlockDimY: 1, BlockDimZ: 1, Attrs: &attrs[0], NumAttrs: 1}
		what := fmt.Sprintf("%s with %d blocks in clusters of %d", k.perf, k.grid, k.cluster)
		err := r.CuLaunchKernelEx(&cfg, f, nil, nil)
		if k.want == cu.CUDA_SUCCESS {
			r.ok(err)
			continue
		}
		r.want(what, err, k.want)
	}
	r.ok(r.CuCtxSynchronize())
}

func TestClustersInAGraph(t *testing.T) {
	k := threadCase{grid: blocks(8), block: 32, decls: ".shared .b32 word;\n", body: `
	st.shared.u32 [word], %rank;` + clusterSync + `
	xor.b32 %r5, %rank, 3; mov.u32 %r6, word; mapa.shared::cluster.u32 %r7, %r6, %r5; ld.shared::cluster.u32 %r8, [%r7];
	ld.global.u32 %r0, [%out]; mad.lo.u32 %r0, %r0, 10, %r8;` + clusterSync}
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m, err := c.LoadModule([]byte(k.text()))
		if err != nil {
			t.Fatalf("%+v", err)
		}
		defer closing(t, m)
		f, err := m.Kernel("test")
		if err != nil {
			t.Fatal(err)
		}
		out := words(t, c, make([]uint32, 256))
		defer closing(t, out)
		l, err := f.Prepare(driver.LaunchConfig{Grid: k.grid, Block: blocks(32), Cluster: blocks(4)}, out, out)
		if err != nil {
			t.Fatal(err)
		}
		g, err := graph.New(c)
		if err != nil {
			t.Fatal(err)
		}
		defer closing(t, g)
		if _, err := g.Add(l); err != nil {
			t.Fatal(err)
		}
		x, err := g.Instantiate()
		if err != nil {
			t.Fatal(err)
		}
		defer closing(t, x)
		for range 2 {
			if err := x.Run(t.Context(), c.LegacyStream()); err != nil {
				t.Fatal(err)
			}
		}
		compareWords(t, "thread", out, 256, func(i int) uint32 { return 11 * uint32(i/32%4^3) })
	})
}
