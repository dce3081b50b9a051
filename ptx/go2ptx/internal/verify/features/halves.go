package features

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// halves takes numbers apart, and makes others of their halves.
//
//gpu:kernel block=64
func halves(t gpu.Thread, x []uint64, y []uint32, out []uint64, words, bytes []uint32) {
	i := t.GlobalX()
	if i >= len(x) || i >= len(y) {
		return
	}
	low, high := uint32(x[i]), uint32(x[i]>>32)
	out[3*i] = uint64(low)<<32 | uint64(high)
	out[3*i+1] = uint64(low*5+high) + x[i]*x[i]
	out[3*i+2] = uint64(y[i]) + (x[i] + uint64(low<<3+y[i]))
	a, b := num.F16FromBits(uint16(y[i])), num.F16FromBits(uint16(y[i]>>16))
	c, d := num.BF16FromBits(uint16(low)).Float32(), num.BF16FromBits(uint16(low>>16)).Float32()
	bytes[i] = low&0xff | uint32(uint8(high))<<8 | (y[i]>>3&0xff)<<16 | low>>9<<24
	words[6*i] = uint32(a.Add(b).Bits())<<16 | uint32(a.Sub(b).Bits())
	words[6*i+1] = uint32(num.ToBF16(c*d).Bits())<<16 | uint32(num.ToBF16(c+d).Bits())
	words[6*i+2] = low<<16 | y[i]&0xffff
	words[6*i+3] = high&^0xffff | y[i]&0xffff
	words[6*i+4] = high>>7<<7 ^ low&0xffff<<16
	words[6*i+5] = math.Float32bits(d) | math.Float32bits(c)>>16
}
