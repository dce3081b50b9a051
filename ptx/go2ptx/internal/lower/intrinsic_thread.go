package lower

import (
	"fmt"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// barrier is the effect of operations that synchronize with other threads.
const barrier = ir.Convergent | ir.Fences | ir.Reads | ir.Writes

// special reads a special register whose value does not change.
func (b *builder) special(name string) *ir.Value {
	v := b.emit(ir.OpSpecial, ir.TI32)
	v.Sym, v.Aux = name, 1
	return v
}

// blockDim returns the size of the block in dimension i. It is a constant if the kernel requires a
// certain block size.
func (b *builder) blockDim(i int) *ir.Value {
	if l := b.f.Launch; l.Required && l.Block[0] > 0 {
		return b.int32(int64(max(l.Block[i], 1)))
	}
	return b.special("%ntid." + "xyz"[i:i+1])
}

func (b *builder) threadIndex(i int) *ir.Value {
	if d := b.blockDim(i); d.IsConst(1) {
		return b.int32(0)
	}
	return b.special("%tid." + "xyz"[i:i+1])
}

// index returns an intrinsic for a nonnegative 32-bit number, which it extends to an int.
func index(f func(*icall) *ir.Value) func(*icall) []leaf {
	return func(c *icall) []leaf { return []leaf{c.wide(f(c), false)} }
}

func register32(name string) func(*icall) []leaf {
	return index(func(c *icall) *ir.Value { return c.special(name) })
}

// mulWide multiplies two unsigned 32-bit numbers to a 64-bit product.
func (b *builder) mulWide(x, y *ir.Value) *ir.Value {
	if x.Op == ir.OpConst && y.Op == ir.OpConst {
		return b.int(int64(uint64(uint32(x.Aux)) * uint64(uint32(y.Aux))))
	}
	return b.emit(ir.OpMulWideU, ir.TI64, x, y)
}

// rank returns x + dimX*(y + dimY*z).
func (b *builder) rank(x, y, z, dimX, dimY *ir.Value) *ir.Value {
	return b.add(x, b.mul(dimX, b.add(y, b.mul(dimY, z))))
}

func (b *builder) threadRank() *ir.Value {
	return b.rank(b.threadIndex(0), b.threadIndex(1), b.threadIndex(2), b.blockDim(0), b.blockDim(1))
}

func axes(name string, f func(i int) func(*icall) []leaf) map[string]func(*icall) []leaf {
	m := map[string]func(*icall) []leaf{}
	for i := range 3 {
		m["Thread."+name+"XYZ"[i:i+1]] = f(i)
	}
	return m
}

func axisRegister(name string) func(i int) func(*icall) []leaf {
	return func(i int) func(*icall) []leaf { return register32(name + "." + "xyz"[i:i+1]) }
}

var _ = registerThread()

func registerThread() bool {
	register(pathGPU, axes("Block", axisRegister("%ctaid")))
	register(pathGPU, axes("GridDim", axisRegister("%nctaid")))
	register(pathGPU, axes("Cluster", axisRegister("%clusterid")))
	register(pathGPU, axes("ClusterDim", axisRegister("%cluster_nctaid")))
	register(pathGPU, axes("ClusterBlock", axisRegister("%cluster_ctaid")))
	register(pathGPU, axes("Thread", func(i int) func(*icall) []leaf {
		return index(func(c *icall) *ir.Value { return c.threadIndex(i) })
	}))
	register(pathGPU, axes("BlockDim", func(i int) func(*icall) []leaf {
		return index(func(c *icall) *ir.Value { return c.blockDim(i) })
	}))
	register(pathGPU, axes("Global", func(i int) func(*icall) []leaf {
		return func(c *icall) []leaf {
			block := c.mulWide(c.special("%ctaid."+"xyz"[i:i+1]), c.blockDim(i))
			return []leaf{c.add(block, c.wide(c.threadIndex(i), false))}
		}
	}))
	register(pathGPU, axes("GridStride", func(i int) func(*icall) []leaf {
		return func(c *icall) []leaf { return []leaf{c.mulWide(c.special("%nctaid."+"xyz"[i:i+1]), c.blockDim(i))} }
	}))
	return register(pathGPU, map[string]func(*icall) []leaf{
		"Device":      func(c *icall) []leaf { return []leaf{c.bool(true)} },
		"Arch":        func(c *icall) []leaf { return []leaf{c.int(int64(c.l.opt.Arch))} },
		"Thread.Rank": index(func(c *icall) *ir.Value { return c.threadRank() }),
		"Thread.BlockSize": index(func(c *icall) *ir.Value {
			return c.mul(c.mul(c.blockDim(0), c.blockDim(1)), c.blockDim(2))
		}),
		"Thread.BlockRank": func(c *icall) []leaf {
			at := func(name string) *ir.Value { return c.wide(c.special(name), false) }
			return []leaf{c.rank(at("%ctaid.x"), at("%ctaid.y"), at("%ctaid.z"), at("%nctaid.x"), at("%nctaid.y"))}
		},
		"Thread.GridSize": func(c *icall) []leaf {
			return []leaf{c.mul(c.mulWide(c.special("%nctaid.x"), c.special("%nctaid.y")), c.wide(c.special("%nctaid.z"), false))}
		},
		"Thread.Lane":        register32("%laneid"),
		"Thread.Warp":        index(func(c *icall) *ir.Value { return c.op(ir.OpLShr, ir.TI32, c.threadRank(), c.int32(5)) }),
		"Thread.ClusterRank": register32("%cluster_ctarank"),
		"Thread.ClusterSize": register32("%cluster_nctarank"),
	})
}

// text32 returns an intrinsic for PTX whose integer operands are 32 bits wide.
func text32(text string, effect ir.Effect, result ir.Type) func(*icall) []leaf {
	return func(c *icall) []leaf {
		var args []*ir.Value
		for i := range c.operands() {
			args = append(args, c.i32(i))
		}
		v := c.asm(result, effect, text, args...)
		v.Divergent = effect == ir.Convergent
		if result == ir.TNone {
			return nil
		}
		if len(c.res) > 0 && c.l.layout(c.res[0]).leaf.mem == ir.M64 && result == ir.TI32 {
			return []leaf{c.wide(v, false)}
		}
		return []leaf{v}
	}
}

func fence(s ir.Scope) func(*icall) []leaf {
	return func(c *icall) []leaf {
		v := c.opAux(ir.OpFence, ir.TNone, int64(s))
		v.Atomic.Order, v.Atomic.Scope = ir.SeqCst, s
		return nil
	}
}

var _ = register(pathGPU, map[string]func(*icall) []leaf{
	"Thread.Sync":          text32("bar.sync 0;", barrier, ir.TNone),
	"Thread.SyncCount":     text32("bar.red.popc.u32 $0, 0, %0;", barrier, ir.TI32),
	"Thread.SyncAnd":       text32("bar.red.and.pred $0, 0, %0;", barrier, ir.TBool),
	"Thread.SyncOr":        text32("bar.red.or.pred $0, 0, %0;", barrier, ir.TBool),
	"Thread.SyncWarp":      text32("bar.warp.sync 0xffffffff;", barrier, ir.TNone),
	"Thread.SyncWarpMask":  text32("bar.warp.sync %0;", barrier, ir.TNone),
	"Thread.BarrierSync":   text32("bar.sync %0, %1;", barrier, ir.TNone),
	"Thread.BarrierArrive": text32("bar.arrive %0, %1;", barrier, ir.TNone),
	"Thread.ClusterSync":   text32("barrier.cluster.arrive; barrier.cluster.wait;", barrier, ir.TNone),
	"Thread.ClusterArrive": text32("barrier.cluster.arrive;", barrier, ir.TNone),
	"Thread.ClusterWait":   text32("barrier.cluster.wait;", barrier, ir.TNone),
	"Thread.GridSync":      gridSync,
	"Thread.FenceBlock":    fence(ir.ScopeBlock),
	"Thread.FenceDevice":   fence(ir.ScopeDevice),
	"Thread.FenceSystem":   fence(ir.ScopeSystem),
	"Thread.FenceAsync":    text32("fence.proxy.async.shared::cta;", ir.Fences|ir.Reads|ir.Writes, ir.TNone),

	"Thread.GridDependencySync":   text32("griddepcontrol.wait;", ir.Fences|ir.Reads|ir.Writes, ir.TNone),
	"Thread.GridLaunchDependents": text32("griddepcontrol.launch_dependents;", ir.Fences|ir.Reads|ir.Writes, ir.TNone),
	"Thread.Exit":                 func(c *icall) []leaf { c.exit(); return nil },
	"Thread.Trap":                 func(c *icall) []leaf { c.asm(ir.TNone, ir.Faults|ir.Writes, "trap;"); c.exit(); return nil },
	"Thread.Clock":                text32("mov.u32 $0, %clock;", ir.Varies|ir.Reads|ir.Writes, ir.TI32),
	"Thread.Clock64":              text32("mov.u64 $0, %clock64;", ir.Varies|ir.Reads|ir.Writes, ir.TI64),
	"Thread.GlobalTimer":          text32("mov.u64 $0, %globaltimer;", ir.Varies|ir.Reads|ir.Writes, ir.TI64),
	"Thread.Sleep":                text32("nanosleep.u32 %0;", ir.Varies|ir.Fences|ir.Reads|ir.Writes, ir.TNone),
	"Conditional.Set":             setConditional,
	"Assert": func(c *icall) []leaf {
		message, ok := c.constText(c.operands()[1])
		if !ok {
			c.errorf(c.n, "const-arg", "message", c.name)
		}
		c.check("assert", message, c.x(0))
		return nil
	},
})

// gridSync synchronizes the whole grid. Two special registers contain the address of a counter that
// the driver sets up before a cooperative launch. The sign of the counter changes when all blocks
// have arrived.
func gridSync(c *icall) []leaf {
	blocks := c.mul(c.mul(c.special("%nctaid.x"), c.special("%nctaid.y")), c.special("%nctaid.z"))
	rank := c.threadRank()
	at := c.add(c.add(c.special("%ctaid.x"), c.special("%ctaid.y")), c.special("%ctaid.z"))
	c.asm(ir.TNone, barrier, "bar.sync 0;")
	lead, end := c.newBlock(), c.newBlock()
	c.branch(c.cmp(ir.Eq, rank, c.int32(0)), lead, end)
	c.enter(lead)
	first := c.cmp(ir.Eq, at, c.int32(0))
	n := c.sel(first, c.sub(c.int32(-1<<31), c.sub(blocks, c.int32(1))), c.int32(1))
	c.asm(ir.TNone, ir.Fences|ir.Reads|ir.Writes, `{ .reg .b32 %h, %l, %old, %now; .reg .b64 %p; .reg .pred %q;
mov.u32 %h, %envreg1; mov.u32 %l, %envreg2; mov.b64 %p, {%l, %h}; fence.sc.gpu; atom.global.add.u32 %old, [%p+4], %0;
again: ld.volatile.global.u32 %now, [%p+4]; xor.b32 %now, %now, %old; setp.ge.s32 %q, %now, 0; @%q bra again; fence.sc.gpu; }`, n)
	c.jump(end)
	c.enter(end)
	c.asm(ir.TNone, barrier, "bar.sync 0;")
	return nil
}

// The functions below exchange values within a warp.

// bits32 splits the bits of a number into 32-bit registers.
func (c *icall) bits32(v *ir.Value) []*ir.Value {
	switch v.Type.Kind {
	case ir.I32:
		return []*ir.Value{v}
	case ir.F32, ir.F16, ir.BF16:
		return []*ir.Value{c.op(ir.OpBitcast, ir.TI32, v)}
	case ir.F64:
		v = c.op(ir.OpBitcast, ir.TI64, v)
	}
	return []*ir.Value{c.op(ir.OpTrunc, ir.TI32, v), c.op(ir.OpTrunc, ir.TI32, c.op(ir.OpLShr, ir.TI64, v, c.int32(32)))}
}

// fromBits32 is the inverse of bits32.
func (c *icall) fromBits32(parts []*ir.Value, t ir.Type) *ir.Value {
	v := parts[0]
	if len(parts) == 2 {
		high := c.op(ir.OpShl, ir.TI64, c.wide(parts[1], false), c.int32(32))
		v = c.op(ir.OpOr, ir.TI64, c.wide(v, false), high)
	}
	if v.Type == t {
		return v
	}
	return c.op(ir.OpBitcast, t, v)
}

// shuffle returns the intrinsic for a warp shuffle. Its arguments are the mask (if masked), the
// value, the lane and the width (if masked).
func shuffle(mode string, masked bool) func(*icall) []leaf {
	return func(c *icall) []leaf {
		mask, width, first := c.int32(-1), int64(32), 0
		if masked {
			mask, width, first = c.i32(0), c.constArg(3, "width"), 1
			if width < 1 || width > 32 || width&(width-1) != 0 {
				return c.fail("the width is not a power of two up to 32", "use 1, 2, 4, 8, 16 or 32")
			}
		}
		v, lane := c.x(first), c.i32(first+1)
		clamp := (32-width)<<8 | 0x1f
		if mode == "up" {
			clamp = (32 - width) << 8
		}
		var parts []*ir.Value
		for _, p := range c.bits32(v) {
			r := c.asm(ir.TI32, ir.Convergent, fmt.Sprintf("shfl.sync.%s.b32 $0, %%0, %%1, %d, %%2;", mode, clamp), p, lane, mask)
			r.Divergent = true
			if mode != "idx" { // the instruction would ignore all but the low five bits
				r = c.sel(c.cmp(ir.ULt, c.x(first+1), c.int(32)), r, p)
			}
			parts = append(parts, r)
		}
		return []leaf{c.fromBits32(parts, v.Type)}
	}
}

// vote returns the intrinsic for a warp vote. Its arguments are the mask (if masked) and the
// predicate.
func vote(text string, t ir.Type, masked bool) func(*icall) []leaf {
	return func(c *icall) []leaf {
		mask, first := c.int32(-1), 0
		if masked {
			mask, first = c.i32(0), 1
		}
		r := c.asm(t, ir.Convergent, text+" $0, %0, %1;", c.x(first), mask)
		r.Divergent = true
		return []leaf{r}
	}
}

func match(all, masked bool) func(*icall) []leaf {
	return func(c *icall) []leaf {
		mask, first := c.int32(-1), 0
		if masked {
			mask, first = c.i32(0), 1
		}
		v := c.x(first)
		size := "b32"
		switch v.Type.Kind {
		case ir.F32, ir.F16, ir.BF16:
			v = c.op(ir.OpBitcast, ir.TI32, v)
		case ir.F64:
			v, size = c.op(ir.OpBitcast, ir.TI64, v), "b64"
		case ir.I64:
			size = "b64"
		}
		if !all {
			r := c.asm(ir.TI32, ir.Convergent, "match.any.sync."+size+" $0, %0, %1;", v, mask)
			r.Divergent = true
			return []leaf{r}
		}
		r := c.asm(ir.TTuple, ir.Convergent, "match.all.sync."+size+" $0|$1, %0, %1;", v, mask)
		r.Tuple, r.Divergent = []ir.Type{ir.TI32, ir.TBool}, true
		return []leaf{c.opAux(ir.OpExtract, ir.TI32, 0, r), c.opAux(ir.OpExtract, ir.TBool, 1, r)}
	}
}

// reduce returns the intrinsic for a warp reduction. For sm_80 and later, the reduction is a single
// instruction. For older targets it consists of shuffles, provided that all lanes take part.
func reduce(op string, signed, unsigned ir.Op, masked bool) func(*icall) []leaf {
	return func(c *icall) []leaf {
		mask, first := c.int32(-1), 0
		if masked {
			mask, first = c.i32(0), 1
		}
		v := c.x(first)
		o, typ := unsigned, ".u32"
		if isSigned(c.res[0]) {
			o, typ = signed, ".s32"
		}
		if signed == ir.OpAnd || signed == ir.OpOr || signed == ir.OpXor {
			typ = ".b32"
		}
		if c.l.opt.Arch >= 80 || !mask.IsConst(-1) {
			r := c.asm(ir.TI32, ir.Convergent, "redux.sync."+op+typ+" $0, %0, %1;", v, mask)
			r.Divergent = true
			return []leaf{r}
		}
		for lanes := 16; lanes > 0; lanes /= 2 {
			r := c.asm(ir.TI32, ir.Convergent, fmt.Sprintf("shfl.sync.bfly.b32 $0, %%0, %d, 31, %%1;", lanes), v, mask)
			r.Divergent = true
			v = c.op(o, ir.TI32, v, r)
		}
		return []leaf{v}
	}
}

var _ = registerWarp()

func registerWarp() bool {
	for _, masked := range []bool{false, true} {
		suffix := map[bool]string{true: "Mask"}[masked]
		t := map[string]func(*icall) []leaf{
			"Shuffle": shuffle("idx", masked), "ShuffleUp": shuffle("up", masked), "ShuffleDown": shuffle("down", masked), "ShuffleXor": shuffle("bfly", masked),
			"All": vote("vote.sync.all.pred", ir.TBool, masked), "Any": vote("vote.sync.any.pred", ir.TBool, masked), "Ballot": vote("vote.sync.ballot.b32", ir.TI32, masked),
			"MatchAny": match(false, masked), "MatchAll": match(true, masked),
			"ReduceAdd": reduce("add", ir.OpAdd, ir.OpAdd, masked),
			"ReduceMin": reduce("min", ir.OpSMin, ir.OpUMin, masked),
			"ReduceMax": reduce("max", ir.OpSMax, ir.OpUMax, masked),
			"ReduceAnd": reduce("and", ir.OpAnd, ir.OpAnd, masked),
			"ReduceOr":  reduce("or", ir.OpOr, ir.OpOr, masked),
			"ReduceXor": reduce("xor", ir.OpXor, ir.OpXor, masked),
		}
		for name, do := range t {
			intrinsics[pathGPU+"."+name+suffix] = do
		}
	}
	intrinsics[pathGPU+".ActiveMask"] = func(c *icall) []leaf {
		r := c.asm(ir.TI32, ir.Convergent|ir.Varies, "activemask.b32 $0;")
		r.Divergent = true
		return []leaf{r}
	}
	return true
}
