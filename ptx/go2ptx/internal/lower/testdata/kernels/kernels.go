// Package kernels uses every function that kernels can call. The tests compile it to PTX.
package kernels

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

var hits gpu.Global[uint32]
var limits = gpu.ConstantOf([3]float32{1, 2, 3})

type params struct {
	view  gpu.View[float32]
	half  gpu.View2D[num.F16]
	scale float64
}

//gpu:kernel block=256
func saxpy(t gpu.Thread, a float32, x, y []float32) {
	if i := t.GlobalX(); i < len(y) {
		y[i] += a * x[i]
	}
}

//gpu:kernel
func indices(t gpu.Thread, out []int) {
	out[0] = t.ThreadX() + t.ThreadY() + t.ThreadZ() + t.BlockX() + t.BlockY() + t.BlockZ()
	out[1] = t.BlockDimX() + t.BlockDimY() + t.BlockDimZ() + t.GridDimX() + t.GridDimY() + t.GridDimZ()
	out[2] = t.GlobalX() + t.GlobalY() + t.GlobalZ() + t.GridStrideX() + t.GridStrideY() + t.GridStrideZ()
	out[3] = t.Rank() + t.BlockSize() + t.BlockRank() + t.GridSize() + t.Lane() + t.Warp()
	if gpu.Device() {
		out[4] = int(t.Clock()) + int(t.Clock64()) + int(t.GlobalTimer()) + gpu.Arch()
	}
}

//gpu:kernel
func clusters(t gpu.Thread, out []int) {
	out[0] = t.ClusterX() + t.ClusterDimY() + t.ClusterBlockZ() + t.ClusterRank() + t.ClusterSize()
	t.ClusterSync()
	t.ClusterArrive()
	t.ClusterWait()
	s := gpu.Shared[int](t)
	*gpu.MapShared(t, s, 1) = 5
	t.GridDependencySync()
	t.GridLaunchDependents()
}

//gpu:kernel block=16x16
func tile(t gpu.Thread, in, out []float32, width int) {
	tile := gpu.Shared[[16][17]float32](t)
	x, y := t.GlobalX(), t.GlobalY()
	tile[t.ThreadY()][t.ThreadX()] = in[y*width+x]
	t.Sync()
	out[x*width+y] = tile[t.ThreadX()][t.ThreadY()]
	n := t.SyncCount(x > 3)
	if t.SyncAnd(y > 0) || t.SyncOr(n == 2) {
		t.SyncWarp()
	}
	t.SyncWarpMask(gpu.FullMask)
	t.BarrierArrive(1, 256)
	t.BarrierSync(1, 256)
	t.FenceBlock()
	t.FenceDevice()
	t.FenceSystem()
	d := gpu.DynamicShared[float64](t)
	d[0] = float64(len(d))
}

//gpu:kernel
func grid(t gpu.Thread, out []int) {
	t.GridSync()
	out[0] = 1
}

func exchange[T gpu.Scalar](t gpu.Thread, v T) T {
	v = gpu.Shuffle(t, v, 3)
	v = gpu.ShuffleUp(t, v, 1)
	v = gpu.ShuffleDown(t, v, t.ThreadX())
	v = gpu.ShuffleXor(t, v, 16)
	v = gpu.ShuffleMask(t, 0xff, v, 2, 8)
	v = gpu.ShuffleUpMask(t, 0xff, v, 2, 8)
	return gpu.ShuffleXorMask(t, 0xff, gpu.ShuffleDownMask(t, 0xff, v, 2, 8), 1, 8)
}

//gpu:kernel
func warps(t gpu.Thread, a []int32, b []float64, c []num.F16, d []uint8) {
	i := t.ThreadX()
	a[i] = exchange(t, a[i])
	b[i] = exchange(t, b[i])
	c[i] = exchange(t, c[i])
	d[i] = exchange(t, d[i])
	m := gpu.Ballot(t, a[i] > 0) | gpu.BallotMask(t, 1, true) | gpu.ActiveMask(t) | gpu.MatchAny(t, b[i])
	if gpu.All(t, m > 1) && gpu.Any(t, m > 2) {
		k, ok := gpu.MatchAll(t, m)
		if ok {
			a[0] = int32(k)
		}
	}
	a[1] = gpu.ReduceAdd(t, a[i]) + gpu.ReduceMin(t, a[i]) + gpu.ReduceMax(t, a[i])
	a[2] = int32(gpu.ReduceAnd(t, m) + gpu.ReduceOr(t, m) + gpu.ReduceXor(t, m) + gpu.ReduceMinMask(t, 3, m))
}

//gpu:kernel
func atomics(t gpu.Thread, a []int32, b []uint64, c []float32, d []uint32) {
	i := t.ThreadX()
	gpu.AtomicAdd(&a[i], 1)
	gpu.AtomicSub(&a[i], 2, gpu.ScopeBlock, gpu.Relaxed)
	gpu.AtomicMin(&a[i], 2)
	gpu.AtomicMax(&b[i], 2)
	gpu.AtomicAnd(&b[i], 2)
	gpu.AtomicOr(&a[i], 2)
	gpu.AtomicXor(&a[i], 2, gpu.ScopeSystem)
	d[i] = gpu.AtomicInc(&d[i], 2) + gpu.AtomicDec(&d[i], 5)
	c[i] = gpu.AtomicExchange(&c[i], 2.5)
	gpu.AtomicAdd(&c[i], 2.5)
	old, ok := gpu.AtomicCompareAndSwap(&c[i], 1, 2, gpu.AcqRel)
	if ok {
		c[i] = old
	}
	gpu.AtomicStore(&b[i], gpu.AtomicLoad(&b[i], gpu.Acquire), gpu.Release)
	gpu.AtomicAdd(hits.Ptr(), 1)
	s := gpu.Shared[uint32](t)
	gpu.AtomicAdd(s, 3)
	hits.Store(hits.Load() + *s)
}

//gpu:kernel
func memory(t gpu.Thread, p params, x []float32, y []int) {
	i := t.ThreadX()
	x[i] = gpu.LoadNC(&x[1]) + gpu.LoadCached(&x[2], gpu.CacheStreaming) + p.view.At(i) + limits.Ptr()[i]
	gpu.StoreCached(&x[3], 4, gpu.CacheGlobal)
	gpu.StoreVolatile(&y[0], gpu.LoadVolatile(&y[1]))
	v := gpu.LoadNC((*[4]float32)(x[4:]))
	v[1] = float32(p.scale)
	*(*[4]float32)(x[8:]) = v
	p.view.Set(i, p.half.At(i, 2).Float32())
	*p.half.Ptr(1, 1) = num.ToF16(v[0])
	y[2] = p.view.Len() + p.half.Cols()
	gpu.PrefetchL1(&x[0])
	gpu.PrefetchL2(&x[0])
	gpu.Assert(t, y[0] > 0, "y[0] is positive")
	if y[1] == 3 {
		t.Exit()
	}
}

//gpu:kernel
func async(t gpu.Thread, x []float32) {
	s := gpu.Shared[[256]float32](t)
	gpu.CopyAsync(t, &s[t.ThreadX()], &x[t.ThreadX()])
	gpu.CopyAsyncIf(t, &s[t.ThreadX()], &x[t.ThreadX()], t.ThreadX() > 3)
	t.CommitGroup()
	t.WaitGroup(0)
	bar := gpu.Shared[gpu.Barrier](t)
	if t.Rank() == 0 {
		bar.Init(t, t.BlockSize())
	}
	t.Sync()
	if t.Rank() == 0 {
		gpu.CopyBulk(t, s[:], x[:256], bar)
		bar.ArriveExpect(t, 1024)
	}
	phase := bar.Arrive(t)
	if !bar.Test(t, phase) {
		bar.Wait(t, phase)
	}
	if !bar.TestParity(t, 1) {
		bar.WaitParity(t, 1)
	}
	bar.ArriveCount(t, 2)
	bar.ArriveDrop(t)
	t.FenceAsync()
	gpu.CopyBulkOut(t, x[256:512], s[:])
	t.CommitBulkGroup()
	t.WaitBulkGroup(0)
	bar.Invalidate(t)
	t.Sleep(100)
}

//gpu:kernel
func integers(t gpu.Thread, a []int32, b []uint32, c []int64) {
	i := t.ThreadX()
	x, y := a[i], b[i]
	a[0] = gpu.MulHi(x, 3) + gpu.Mul24(x, 5) + gpu.AddSat(x, 7) + gpu.SubSat(x, 9) + gpu.Dp4a(x, x, x) + gpu.Dp2aLow(x, x, x) + gpu.Dp2aHigh(x, x, x) + gpu.Bfe(x, 3, 5)
	b[0] = gpu.Sad(x, 4, y) + gpu.BytePermute(y, y, 0x3210) + gpu.Lop3(y, y, y, 0x96) + gpu.FunnelShiftLeft(y, y, y) + gpu.FunnelShiftRight(y, y, y) +
		gpu.FunnelShiftLeftClamp(y, y, y) + gpu.FunnelShiftRightClamp(y, y, y) + gpu.Bfi(y, y, 2, 3) + gpu.FindNthSet(y, 0, 1)
	c[0] = gpu.MulHi(c[1], c[2]) + gpu.Bfe(c[3], 1, 2) + gpu.Bfi(c[1], c[2], 3, 4)
	c[4] = gpu.Bfe(c[3], y, 2) + gpu.Bfe(c[3], 1, y) + gpu.Bfi(c[1], c[2], y, 4) + gpu.Bfi(c[1], c[2], 3, y) + int64(gpu.Bfe(y, y, y))
}

//gpu:kernel
func numbers(t gpu.Thread, a []float32, b []float64, c []num.F16, d []num.BF16, e []num.E4M3) {
	x, y := a[0], b[0]
	a[1] = gpu.AddRound(x, 1, gpu.ToZero) + gpu.SubRound(x, 1, gpu.ToPositiveInf) + gpu.MulRound(x, 3, gpu.ToNegativeInf) + gpu.DivRound(x, 3, gpu.ToZero) +
		gpu.FMARound(x, x, x, gpu.ToZero) + gpu.SqrtRound(x, gpu.ToZero) + gpu.RcpRound(x, gpu.ToZero) + gpu.RoundInt(x, gpu.ToZero) + gpu.Saturate(x) + gpu.FMA(x, x, x)
	b[1] = gpu.FMA(y, y, y) + gpu.RcpRound(y, gpu.ToPositiveInf) + gpu.Saturate(y)
	a[2] = gpu.ApproxSin(x) + gpu.ApproxCos(x) + gpu.ApproxExp2(x) + gpu.ApproxLog2(x) + gpu.ApproxRcp(x) + gpu.ApproxRsqrt(x) + gpu.ApproxSqrt(x) + gpu.ApproxTanh(x) +
		gpu.ApproxDiv(x, x) + gpu.ApproxExp(x) + gpu.ApproxLog(x)
	c[0] = num.FMA(c[1], c[2], c[3].Add(c[4])).Min(c[5]).Neg()
	c[1] = num.Sqrt(c[2].Div(c[3]))
	d[0] = num.Max(d[1].Mul(d[2]), d[3].Sub(d[4]))
	e[0] = num.To[num.E4M3](a[3])
	a[4] = e[1].Float32() + num.To[float32](d[5])
	b[2] = float64(gpu.Convert[int32](y, gpu.ToZero)) + float64(gpu.Convert[uint8](int64(y), gpu.ToZero)) + gpu.Convert[float64](x, gpu.ToZero)
	a[5] = gpu.Convert[float32](y, gpu.ToZero)
	if num.Less(c[0], c[1]) && c[2] == c[3] {
		c[0] = c[1]
	}
}

//gpu:kernel
func driver(t gpu.Thread, x []float32, c gpu.Conditional) {
	gpu.Printf(t, "%d: %.3f %t\n", t.GlobalX(), x[0], x[0] > 0)
	c.Set(t, 1)
	x[1] = other(x[0], &x[2], len(x) > 3)
}

var other = gpu.Extern[func(float32, *float32, bool) float32]("other.ptx", "other", nil)

//gpu:kernel
func inline(t gpu.Thread, a []uint32, b []float32) {
	var sum, carry uint32
	gpu.PTX("add.cc.u32 %0, %2, %3; addc.u32 %1, 0, 0;", gpu.Out(&sum), gpu.Out(&carry), gpu.In(a[0]), gpu.In(a[1]))
	gpu.PurePTX("add.u32 %0, %0, 1;", gpu.InOut(&sum))
	gpu.PTX("st.f32 [%0], %1;", gpu.Addr(&b[0]), gpu.In(b[1]))
	s := gpu.Shared[uint32](t)
	gpu.PTX("st.shared.u32 [%0], %1;", gpu.SharedAddr(s), gpu.In(sum))
	a[2] = sum + carry
	if a[0] == 3 {
		t.Trap()
	}
}

//gpu:kernel
//gpu:instance float32 num.F16
func generic[T num.Float](t gpu.Thread, x []T) {
	i := t.GlobalX()
	x[i] = num.FMA(x[i], x[i], num.To[T](2))
}
