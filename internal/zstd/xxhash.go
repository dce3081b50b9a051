package zstd

import "math/bits"

const (
	prime1 uint64 = 0x9e3779b185ebca87
	prime2 uint64 = 0xc2b2ae3d27d4eb4f
	prime3 uint64 = 0x165667b19e3779f9
	prime4 uint64 = 0x85ebca77c2b2ae63
	prime5 uint64 = 0x27d4eb2f165667c5
)

func xxround(acc, v uint64) uint64 {
	return bits.RotateLeft64(acc+v*prime2, 31) * prime1
}

// xxhash64 returns the XXH64 hash of b with seed 0. Its low half is the checksum of a frame.
func xxhash64(b []byte) uint64 {
	n := uint64(len(b))
	h := prime5
	if len(b) >= 32 {
		lanes := [4]uint64{0, prime2, 0, 0}
		lanes[0] = prime1
		lanes[0] += prime2
		lanes[3] -= prime1
		for ; len(b) >= 32; b = b[32:] {
			for i := range lanes {
				lanes[i] = xxround(lanes[i], le.Uint64(b[8*i:]))
			}
		}
		h = bits.RotateLeft64(lanes[0], 1) + bits.RotateLeft64(lanes[1], 7) + bits.RotateLeft64(lanes[2], 12) + bits.RotateLeft64(lanes[3], 18)
		for _, v := range lanes {
			h = (h^xxround(0, v))*prime1 + prime4
		}
	}
	h += n
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64(h^xxround(0, le.Uint64(b)), 27)*prime1 + prime4
	}
	if len(b) >= 4 {
		h = bits.RotateLeft64(h^uint64(le.Uint32(b))*prime1, 23)*prime2 + prime3
		b = b[4:]
	}
	for _, c := range b {
		h = bits.RotateLeft64(h^uint64(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}
