package cases

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/purecuda/cuda/driver"
)

func sha(m *Memory, n int) *Work {
	r := source(n)
	messages := make([]uint32, 13*n)
	for i := range messages {
		messages[i] = r.Uint32()
	}
	digests, in := Out(m, make([]uint32, 8*n)), In(m, messages)
	return &Work{
		Grid: driver.Blocks(n, 128), Block: driver.D1(128),
		Args: []any{digests, in}, CUDA: []any{digests.Ptr(), in.Ptr(), int32(n)},
		Bytes: 84 * float64(n), Operations: 2600 * float64(n),
		Want: func() []any {
			w := make([]uint32, 8*n)
			for i := range n {
				var message [52]byte
				for j := range 13 {
					binary.LittleEndian.PutUint32(message[4*j:], messages[13*i+j])
				}
				digest := sha256.Sum256(message[:])
				for j := range 8 {
					w[8*i+j] = binary.LittleEndian.Uint32(digest[4*j:])
				}
			}
			return []any{w}
		},
	}
}
