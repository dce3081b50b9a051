package kernels

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

var sha256Table = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

// SHA256 computes the digest of each message. A message has 52 bytes (13 words), so that it fits
// into one block of SHA-256 together with the padding. A digest has 8 words.
//
//gpu:kernel block=128 restrict=digests,messages
func SHA256(t gpu.Thread, digests, messages []uint32) {
	i := t.GlobalX()
	if 8*i+8 > len(digests) {
		return
	}
	var w [16]uint32
	for j, v := range messages[13*i:][:13] {
		w[j] = bits.ReverseBytes32(v)
	}
	w[13], w[15] = 1<<31, 13*32
	start := [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}
	a, b, c, d, e, f, g, h := start[0], start[1], start[2], start[3], start[4], start[5], start[6], start[7]
	for j := range sha256Table {
		if j >= 16 {
			w0, w1 := w[(j+1)%16], w[(j+14)%16]
			w[j%16] += w[(j+9)%16] +
				(bits.RotateLeft32(w0, -7) ^ bits.RotateLeft32(w0, -18) ^ w0>>3) +
				(bits.RotateLeft32(w1, -17) ^ bits.RotateLeft32(w1, -19) ^ w1>>10)
		}
		t1 := h + (bits.RotateLeft32(e, -6) ^ bits.RotateLeft32(e, -11) ^ bits.RotateLeft32(e, -25)) + (e&f ^ ^e&g) + sha256Table[j] + w[j%16]
		t2 := (bits.RotateLeft32(a, -2) ^ bits.RotateLeft32(a, -13) ^ bits.RotateLeft32(a, -22)) + (a&b ^ a&c ^ b&c)
		a, b, c, d, e, f, g, h = t1+t2, a, b, c, d+t1, e, f, g
	}
	for j, v := range [8]uint32{a, b, c, d, e, f, g, h} {
		digests[8*i+j] = bits.ReverseBytes32(start[j] + v)
	}
}
