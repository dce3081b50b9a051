package go2ptx_test

import (
	"strings"
	"testing"
)

// 64 rounds like those of SHA-256 become straight code, with the message schedule in registers. The parts
// of a round that depend only on its number do not count for the limit of unrolling.
func TestRounds(t *testing.T) {
	out := compileBody(t, `	var w [16]uint32
	for i := range w {
		w[i] = uint32(n) * uint32(i)
	}
	table := [64]uint32{1, 2, 3}
	a, b, c, d := uint32(1), uint32(2), uint32(3), uint32(4)
	for i := range table {
		if i >= 16 {
			w0, w1 := w[(i+1)%16], w[(i+14)%16]
			w[i%16] += w[(i+9)%16] + (w0>>7 | w0<<25) ^ (w0>>18 | w0<<14) ^ w0>>3 + (w1>>17 | w1<<15) ^ (w1>>19 | w1<<13) ^ w1>>10
		}
		t1 := d + (c>>6 | c<<26) ^ (c>>11 | c<<21) ^ (c>>25 | c<<7) + (c&d ^ ^c&b) + table[i] + w[i%16]
		t2 := (a>>2 | a<<30) ^ (a>>13 | a<<19) ^ (a>>22 | a<<10) + (a&b ^ a&c ^ b&c)
		a, b, c, d = t1+t2, a, b+t1, c
	}
	x[0] = float32(a + b + c + d)`)
	text := string(out.PTX)
	if n := strings.Count(text, "shf.l.wrap.b32"); n < 8*64 || strings.Contains(text, ".local") {
		t.Errorf("%d rotations in\n%s", n, text)
	}
}
