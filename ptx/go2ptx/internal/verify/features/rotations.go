package features

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// rotations adds and subtracts shifts that together look like a rotation.
//
//gpu:kernel block=64
func rotations(t gpu.Thread, x, out []int64) {
	i := t.GlobalX()
	if i >= len(x) {
		return
	}
	s, u := x[i], uint64(x[i])
	out[12*i] = s<<58 + s>>6
	out[12*i+1] = s<<58 - s>>6
	out[12*i+2] = s>>6 - s<<58
	out[12*i+3] = int64(u<<58 - u>>6)
	out[12*i+4] = int64(u<<58 + u>>6)
	out[12*i+5] = s<<1 + s>>63
	out[12*i+6] = s>>33 - s<<31
	out[12*i+7] = s<<32 - s>>32
	out[12*i+8] = int64(u>>31 - u<<33)
	out[12*i+9] = s>>1 + s<<63
	out[12*i+10] = s<<8 | s>>56
	out[12*i+11] = s<<60 + s>>6
}

// fields extracts and inserts bits of numbers that are equal in all threads, from positions that are not.
//
//gpu:kernel block=64
func fields(t gpu.Thread, x, out []int64, equal uint16, wide uint64, n uint32) {
	i := t.GlobalX()
	if i >= len(x) {
		return
	}
	pos := uint32(x[i]) & 255
	word := uint32(wide) ^ uint32(equal)
	out[8*i] = int64(uint16(gpu.Bfe(uint32(equal), pos&63, n&63)) & equal)
	out[8*i+1] = int64(gpu.Bfe(int32(word), pos&63, n&63))
	out[8*i+2] = int64(gpu.Bfe(wide, pos&127, n&127))
	out[8*i+3] = gpu.Bfe(int64(wide), pos, n)
	out[8*i+4] = int64(gpu.Bfi(word, uint32(equal), pos&63, n&63))
	out[8*i+5] = int64(gpu.Bfi(uint32(x[i]), word, n&63, pos&63))
	out[8*i+6] = int64(gpu.Bfi(wide, uint64(equal), pos, n))
	out[8*i+7] = gpu.Bfe(x[i], 3, 40) + gpu.Bfi(x[i], int64(wide), 5, 9) + int64(gpu.Bfe(int32(x[i]), 3, 9))
}

// packed stores narrow numbers together that it needs later.
//
//gpu:kernel block=64
func packed(t gpu.Thread, x, out []int64) {
	halves, bytes := gpu.Shared[[256]int16](t), gpu.Shared[[256]uint8](t)
	i, r := t.GlobalX(), t.ThreadX()
	if i >= len(x) {
		return
	}
	low := min(int16(x[i]), int16(r))
	*(*[2]int16)(halves[4*r+2:]) = [2]int16{int16(i), low}
	*(*[4]uint8)(bytes[4*r:]) = [4]uint8{uint8(i), uint8(low), uint8(x[i]), uint8(x[i] >> 8)}
	t.SyncWarp()
	other := r ^ 1
	if i^1 >= len(x) {
		other = r
	}
	out[3*i] = int64(halves[4*other+2])<<16 + int64(halves[4*other+3])
	out[3*i+1] = int64(bytes[4*other]) + int64(bytes[4*other+1])<<8 + int64(bytes[4*other+2])<<16 + int64(bytes[4*other+3])<<24
	out[3*i+2] = int64(math.Float64bits(float64(float64(x[i])*float64(low)) + float64(i)))
}

// hammered changes a cell of the thread in a loop that has another number of iterations in each thread, and divides.
//
//gpu:kernel block=64
func hammered(t gpu.Thread, x, out []int64, n uint64) {
	cells, sums := gpu.Shared[[64]int32](t), gpu.Shared[[64]int64](t)
	i, r := t.GlobalX(), t.ThreadX()
	if i >= len(x) {
		return
	}
	sum := int64(0)
	for k := range int(x[i] & 7) {
		cells[r] = int32(x[i]) + int32(k)
		sum = sum*5 + int64(gpu.AtomicAdd(&cells[r], int32(x[i]>>3))) + int64(cells[r])
	}
	sums[r] = sum
	out[2*i] = sums[r] + int64(uint64(x[i])%n)
	out[2*i+1] = sum
}
