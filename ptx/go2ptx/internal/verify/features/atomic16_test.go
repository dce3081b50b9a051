package features

import "testing"

// Concurrent operations on 16-bit values must neither lose an update nor change adjacent values.
func TestAtomicsOf16Bits(t *testing.T) {
	each(t, func(d *device) {
		const n = 3 * 64
		counts, halves := upload[int16](d, -100, -5, 9), upload[uint16](d, 1, 0xffff, 3)
		sums := upload[int32](d, 0)
		k := must(Small16In(d.c))(d)
		noError(d, k.Do(d.s, k.Grid(n), counts.All(), halves.All(), sums.All()))
		if got := download(d, counts); got[0] != -100 || got[1] != n-5 || got[2] != 9 {
			d.Errorf("the counts are %d", got)
		}
		// Each thread puts its own number into the location and receives the previous one.
		last := download(d, halves)
		if want := int32(0xffff + n*(n-1)/2); last[0] != 1 || last[2] != 3 || download(d, sums)[0]+int32(last[1]) != want {
			d.Errorf("what was taken out is %d and the rest is %d, want %d together", download(d, sums), last, want)
		}
	})
}
