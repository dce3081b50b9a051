// Package quantizedsm80 contains the kernels of kernels.GemvQuantized for matrices of 4 bits on devices with
// tensor cores for bfloat16, sm_80 and later.
//
// A warp multiplies 16 rows by 16 columns at a time with mma.sync, although it needs one of the eight columns
// of the result. Tensor cores have time to spare, and a lane needs 2.0 instructions for a weight. Without tensor
// cores, it needs 4.1, which is too much to keep up with the memory. On an H200, even 2.4 took 8 % more time than 2.0.
package quantizedsm80

//lint:file-ignore SA4006 staticcheck takes pairsF16 for a function that never returns, as on the host

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/kernels/internal/pack"
	"github.com/purecuda/cuda/ptx/num"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx -nobounds -module -target sm_80

// A block computes Rows rows at a time, and goes on with others if the grid is small. Its warps take stages of two spans of
// columns by turns. A lane has 32 columns of a span in two rows. It copies those of its next stage to shared memory while it computes. So many bytes are in flight
// at any time, without registers for them.
const (
	Rows      = 16
	Span      = 128
	MostWarps = 16
	Resident  = 16                   // most warps of a multiprocessor, which has registers for a few more
	Shared    = (2*stage + ofX) * 16 // bytes of dynamic shared memory for a warp

	// Numbers of vectors of 16 bytes. Two stages of weights are followed by the elements of x for one.
	stage = 2 * 2 * gpu.WarpSize // for each span and row
	ofX   = 2 * Span / 8
)

// Int4 has the arguments of quantized.Int4, of which it ignores weight, eps and normed. cols and the columns
// of a group are multiples of Span, and x begins at a multiple of 16 bytes. kind is F16 or BF16.
//
//gpu:kernel maxblock=512 minblocks=1 name=gemv_i4_sm80
func Int4(t gpu.Thread, y, a, scales, x uint64, rows, cols, group, logSplit uint32, weight uint64, eps float32, normed uint32, kind pack.Kind) {
	room := gpu.DynamicShared[[4]uint32](t)[(2*stage+ofX)*t.Warp():]
	first := t.BlockX() * Rows
	lane, quad := t.Lane()/4, t.Lane()%4
	spans, warps := cols/Span, uint32(t.BlockDimX())/gpu.WarpSize
	groupSpans := group * 32 / Span
	if groupSpans == 0 {
		return // a group is not shorter
	}
	var weights, factors [2]uint64 // the addresses of the two rows; rows after the last one are the last one
	aim := func(first int) {
		for r := range weights {
			row := min(first+lane+8*r, int(rows)-1)
			weights[r] = a + uint64(row)*uint64(cols/2) + uint64(quad)*16
			factors[r] = scales + uint64(row*int(spans/groupSpans))*2
		}
	}
	aim(first)

	// A lane has two scales for each row: those of the two spans. If they are the same, or are in an aligned word, it loads them
	// at once. Otherwise, it must wait for two loads to combine them.
	paired := groupSpans == 1 && (uint32(scales)/2|spans)%2 == 0
	shift := uint32(16) // from the scale of the first span to that of the second
	if groupSpans%2 == 0 {
		shift = 0
	}
	g, rest := 2*uint32(t.Warp())/groupSpans, 2*uint32(t.Warp())%groupSpans // group of a span, and place in the group
	// copied starts to copy the weights of the stage that begins at a span, and to load its scales and the lane's part of x.
	copied := func(span, buffer uint32) (s [2]uint32, v [4]uint32) {
		if span < spans {
			second := span+1 < spans
			offset := uint64(span) * (Span / 2)
			copyWeights(&room[buffer+uint32(t.Lane())], words(weights[0]+offset), words(weights[1]+offset), second)
			if t.Lane() < 16 || second {
				v = *words(x + uint64(span)*(2*Span) + uint64(t.Lane())*16)
			}
			switch {
			case paired:
				for r, at := range factors {
					s[r] = gpu.ViewAt[uint32](at+uint64(g)*2, 1).At(0)
				}
			case shift == 0:
				for r, at := range factors {
					s[r] = uint32(gpu.ViewAt[uint16](at+uint64(g)*2, 1).At(0))
				}
			default:
				next := g
				if second && rest+1 == groupSpans {
					next++
				}
				for r, at := range factors {
					s[r] = uint32(gpu.ViewAt[uint16](at+uint64(g)*2, 1).At(0)) | uint32(gpu.ViewAt[uint16](at+uint64(next)*2, 1).At(0))<<16
				}
			}
		}
		t.CommitGroup()
		return s, v
	}

	// The compiler must not know that this is a constant: an instruction has room for only one.
	zero := logSplit & (1 << 31)
	var sum [2]float32
	// add multiplies a stage that was copied, and adds it to the sums.
	add := func(buffer uint32, s [2]uint32) {
		for h := range uint32(2) {
			var c [4]float32
			mine := room[buffer+2*gpu.WarpSize*h+uint32(t.Lane()):]
			p0, p1 := mine[0], mine[gpu.WarpSize]
			vector := room[2*stage+16*h+4*uint32(quad):]
			swapped := uint32(quad) / 2
			even, odd := vector[swapped:], vector[1-swapped:]
			for i := range uint32(4) {
				v := even[i&2]
				if i%2 != 0 {
					v = odd[i&2]
				}
				b0, b1 := [2]uint32{v[0], v[1]}, [2]uint32{v[2], v[3]}
				if kind == pack.BF16 {
					p, q := pairsBF16(p0[i], zero), pairsBF16(p1[i], zero)
					multiplyBF16(&c, p[0], q[0], p[1], q[1], b0)
					multiplyBF16(&c, p[2], q[2], p[3], q[3], b1)
				} else {
					p, q := pairsF16(p0[i], zero), pairsF16(p1[i], zero)
					multiplyF16(&c, p[0], q[0], p[1], q[1], b0)
					multiplyF16(&c, p[2], q[2], p[3], q[3], b1)
				}
			}
			for r := range sum {
				sum[r] += kind.Float(uint16(s[r])) * c[2*r]
				s[r] >>= shift
			}
		}
	}
	// store adds the sums of all warps, and stores those of the rows from the first on.
	store := func(parts *[MostWarps][Rows]float32, first int) {
		if quad == 0 {
			parts[t.Warp()][lane], parts[t.Warp()][lane+8] = sum[0], sum[1]
		}
		t.Sync()
		if i := t.ThreadX(); i < Rows && first+i < int(rows) {
			var s float32
			//gpu:unroll 4
			for p := range warps {
				s += parts[p][i]
			}
			if kind == pack.BF16 {
				gpu.ViewAt[num.BF16](y, int(rows)).Set(first+i, num.ToBF16(s))
			} else {
				gpu.ViewAt[num.F16](y, int(rows)).Set(first+i, num.ToF16(s))
			}
		}
	}

	stepGroups, stepRest := 2*warps/groupSpans, 2*warps%groupSpans
	span, buffer := 2*uint32(t.Warp()), uint32(0)
	// The scales and the part of x of the stage that was copied last.
	var s [2]uint32
	var v [4]uint32
	// A block may go on with other rows. The first stage of the next rows is copied while the last one of
	// the rows before is multiplied and their sums are added, so that copies never pause. A warp of a few columns can
	// have an empty stage.
	parts := gpu.Shared[[2][MostWarps][Rows]float32](t) // a warp writes sums while others may still read those before
	turn := uint32(0)
	step := t.GridDimX() * Rows
	full, last := false, false // whether the stage before has columns, and is the last one of its rows
	for {
		if full {
			// The elements of x that are multiplied together are four columns apart, as in the weights.
			room[2*stage+place(uint32(t.Lane()))] = [4]uint32{
				gpu.BytePermute(v[0], v[2], 0x5410), gpu.BytePermute(v[0], v[2], 0x7632),
				gpu.BytePermute(v[1], v[3], 0x5410), gpu.BytePermute(v[1], v[3], 0x7632),
			}
		}
		var next [2]uint32
		next, v = copied(span, buffer)
		buffer ^= stage
		if full {
			t.WaitGroup(1)
			t.SyncWarp()
			add(buffer, s)
			t.SyncWarp()
		}
		if last {
			store(&parts[turn], first-step)
			turn ^= 1
			sum = [2]float32{}
		}
		if first >= int(rows) {
			return
		}
		s = next
		full, last = span < spans, span+2*warps >= spans
		span += 2 * warps
		g, rest = g+stepGroups, rest+stepRest
		if rest >= groupSpans {
			g, rest = g+1, rest-groupSpans
		}
		if last {
			first += step
			span, g, rest = 2*uint32(t.Warp()), 2*uint32(t.Warp())/groupSpans, 2*uint32(t.Warp())%groupSpans
			if first >= int(rows) {
				span = spans
			}
			aim(first)
		}
	}
}

// place returns where vector i of x is. Half of the pairs are swapped, so that the lanes of a quad read from
// different banks.
func place(i uint32) uint32 { return i ^ i>>3&1 }

// words returns the 16 bytes at an address.
func words(at uint64) *[4]uint32 { return (*[4]uint32)(gpu.ViewAt[uint32](at, 4).Slice()) }

// copyWeights starts to copy the weights of a stage: 16 bytes of each span and row. It clears those of the second span if
// that does not exist. It also fetches the rest of 256 bytes to the L2 cache: a warp copies 128 bytes of a row at a time, and
// memory is faster if it reads longer parts.
func copyWeights(to, first, second *[4]uint32, both bool) {
	size := uint32(16)
	if !both {
		size = 0
	}
	gpu.PTX("{ .reg .b64 a, b; cvta.to.global.u64 a, %1; cvta.to.global.u64 b, %2; "+
		"cp.async.cg.shared.global.L2::256B [%0], [a], 16; cp.async.cg.shared.global.L2::256B [%0+512], [b], 16; "+
		"cp.async.cg.shared.global.L2::256B [%0+1024], [a+64], 16, %3; cp.async.cg.shared.global.L2::256B [%0+1536], [b+64], 16, %3; }",
		gpu.SharedAddr(to), gpu.Addr(first), gpu.Addr(second), gpu.In(size))
}

// andOr is the truth table of a&b|c.
const andOr = 0xea

// pairsBF16 returns the elements 0 and 4, 1 and 5, 2 and 6, 3 and 7 of a word, minus 8. zero is 0.
func pairsBF16(w, zero uint32) (p [4]uint32) {
	// The bits of an element are the last ones of a number between 128 and 143.
	var one, minus136 uint32
	gpu.PurePTX("mov.b32 %0, 0x3f803f80;", gpu.Out(&one))
	gpu.PurePTX("mov.b32 %0, 0xc308c308;", gpu.Out(&minus136))
	for i := range p {
		gpu.PurePTX("fma.rn.bf16x2 %0, %1, %2, %3;", gpu.Out(&p[i]), gpu.In(gpu.Lop3(w>>(4*i), 0x000f000f, zero|0x43004300, andOr)), gpu.In(one), gpu.In(minus136))
	}
	return p
}

// pairsF16 is like pairsBF16.
func pairsF16(w, zero uint32) (p [4]uint32) {
	// The bits are the last ones of a number between 1024 and 1039, or, for every other element, of one that is
	// 16 times farther from 1024.
	var minus1032, sixteenth, minus72 uint32
	gpu.PurePTX("mov.b32 %0, 0xe408e408;", gpu.Out(&minus1032))
	gpu.PurePTX("mov.b32 %0, 0x2c002c00;", gpu.Out(&sixteenth))
	gpu.PurePTX("mov.b32 %0, 0xd480d480;", gpu.Out(&minus72))
	for i := range 2 {
		gpu.PurePTX("add.rn.f16x2 %0, %1, %2;", gpu.Out(&p[2*i]), gpu.In(gpu.Lop3(w>>(8*i), 0x000f000f, zero|0x64006400, andOr)), gpu.In(minus1032))
		gpu.PurePTX("fma.rn.f16x2 %0, %1, %2, %3;", gpu.Out(&p[2*i+1]), gpu.In(gpu.Lop3(w>>(8*i), 0x00f000f0, zero|0x64006400, andOr)), gpu.In(sixteenth), gpu.In(minus72))
	}
	return p
}

// multiplyBF16 adds the product of two matrices, of 16 by 16 and 16 by 8 elements, to c.
func multiplyBF16(c *[4]float32, a0, a1, a2, a3 uint32, b [2]uint32) {
	var d [4]float32
	gpu.PTX("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};",
		gpu.Out(&d[0]), gpu.Out(&d[1]), gpu.Out(&d[2]), gpu.Out(&d[3]), gpu.In(a0), gpu.In(a1), gpu.In(a2), gpu.In(a3), gpu.In(b[0]), gpu.In(b[1]), gpu.In(c[0]), gpu.In(c[1]), gpu.In(c[2]), gpu.In(c[3]))
	*c = d
}

// multiplyF16 is like multiplyBF16.
func multiplyF16(c *[4]float32, a0, a1, a2, a3 uint32, b [2]uint32) {
	var d [4]float32
	gpu.PTX("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};",
		gpu.Out(&d[0]), gpu.Out(&d[1]), gpu.Out(&d[2]), gpu.Out(&d[3]), gpu.In(a0), gpu.In(a1), gpu.In(a2), gpu.In(a3), gpu.In(b[0]), gpu.In(b[1]), gpu.In(c[0]), gpu.In(c[1]), gpu.In(c[2]), gpu.In(c[3]))
	*c = d
}
