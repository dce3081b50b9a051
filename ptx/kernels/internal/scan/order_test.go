package scan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/ptx/gpu"
)

// The sums of floats that round must be the same in every run, whichever block is faster.
func TestSumsOfFloatsHaveAFixedOrder(t *testing.T) {
	c := cudatest.Device(t)
	fixedOrder[float32](t, c)
	fixedOrder[float64](t, c)
}

func fixedOrder[T Number](t *testing.T, c *driver.Context) {
	n := 34*Tile + 3
	name, err := c.Device().Name()
	mustOf(t)(err)
	if !strings.Contains(strings.ToLower(name), "emulat") {
		n += 2 * group * group * Tile // takes too long on the emulator
	}
	x := rounding[T](n)
	for exclusive := range uint32(2) {
		want := inOrder(x, exclusive)
		compare(t, run(t, c, x, 0, exclusive), want.sums)
		j := newJob[T](t, c, n, 0, exclusive)
		j.copy(x)
		for range j.tiles() {
			j.start(1)
		}
		compare(t, j.end(n), want.sums)
		compareWords(t, j, want.words(j.tiles()))
	}
}

// rounding returns numbers whose sums round.
func rounding[T Number](n int) []T {
	r := rand.New(rand.NewPCG(1, 1))
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.NormFloat64() + 0.1)
	}
	return x
}

// A tile must wait for each sum of earlier tiles that it needs, and publish those that later ones need.
func TestTilesWaitForEarlierOnes(t *testing.T) {
	c := cudatest.Device(t)
	waits[float32](t, c)
	waits[float64](t, c)
}

func waits[T Number](t *testing.T, c *driver.Context) {
	x := rounding[T](2081 * Tile)
	all := inOrder(x, 0)
	s := 0.0
	for i, v := range x {
		if s += float64(v); math.Abs(float64(all.sums[i])-s) > 1e-5*max(math.Abs(s), 1) {
			t.Fatalf("sum %d is %v in the order of the kernel, and %v in another one", i, all.sums[i], s)
		}
	}
	for _, last := range []int{0, 1, 31, 32, 70, 1023, 1024, 1057, 1087, 2047, 2048, 2080} {
		t.Run(fmt.Sprintf("%T/%d", x[0], last), func(t *testing.T) {
			j := newJob[T](t, c, (last+1)*Tile, 0, 0) // most of it is never accessed
			before := all.words(last)[:j.words.Len()]
			must := mustOf(t)
			other, err := c.NewStream()
			must(err)
			defer other.Close()
			check := func() {
				t.Helper()
				compare(t, j.end(Tile), all.sums[last*Tile:(last+1)*Tile])
				compareWords(t, j, all.words(last+1))
			}
			must(j.words.CopyFrom(before))
			j.copy(x[last*Tile : (last+1)*Tile])
			j.start(1)
			check()
			for _, late := range needed[T](last) {
				late := int(late)
				words := slices.Clone(before)
				words[late] = 0
				must(j.words.CopyFrom(words))
				j.copy(x[last*Tile : (last+1)*Tile])
				j.start(1)
				time.Sleep(10 * time.Millisecond)
				if done, err := j.stream.Query(); done || err != nil {
					t.Errorf("tile %d does not wait for word %d: %v", last, late, err)
				}
				op, err := driver.NewMemOp(c, driver.WriteWord(j.words, late, before[late], 0))
				must(err)
				must(other.Do(op))
				check()
			}
		})
	}
}

// needed returns some of the words without which a tile cannot compute its sums, of each kind of sum.
func needed[T Number](tile int) (words []uint32) {
	add := func(first uint32) {
		for word := first; word < first+window[T](); word += group {
			words = append(words, word)
		}
	}
	inGroup, inSection := tile%group, tile/group%group
	for _, i := range []int{0, inGroup / 2, inGroup - 1} {
		if i >= 0 && i < inGroup {
			add(wordOfTile[T](tile - inGroup + i))
		}
	}
	for _, i := range []int{0, inSection - 1} {
		if i >= 0 && i < inSection {
			add(wordOfGroup[T](tile/group - inSection + i))
		}
	}
	if section := tile / (group * group); section > 0 {
		add(wordOfSection[T](section - 1))
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// ordered contains prefix sums that were added in the order of the kernel, and what its tiles publish.
type ordered[T Number] struct {
	sums, tiles, groups, sections []T
}

func inOrder[T Number](x []T, exclusive uint32) (o ordered[T]) {
	for len(o.sums) < len(x) {
		tile := len(o.tiles)
		inGroup, inSection, section := tile%group, tile/group%group, tile/(group*group)
		var start T
		if section > 0 {
			start = o.sections[section-1]
		}
		var both [group]T
		for i := range both {
			if i < inSection {
				both[i] = o.groups[tile/group-inSection+i]
			}
			if i < inGroup {
				both[i] += o.tiles[tile-inGroup+i]
			}
		}
		sums, sum := sumsOfTile(x[len(o.sums):min(len(o.sums)+Tile, len(x))], start+butterfly(both[:]), exclusive)
		o.sums = append(o.sums, sums...)
		if o.tiles = append(o.tiles, sum); len(o.tiles)%group == 0 {
			o.groups = append(o.groups, butterfly(o.tiles[tile-inGroup:]))
		}
		if len(o.tiles)%(group*group) == 0 {
			var before T
			if section > 0 {
				before = o.sections[section-1]
			}
			o.sections = append(o.sections, before+butterfly(o.groups[section*group:]))
		}
	}
	return o
}

// butterfly adds 32 numbers.
func butterfly[T Number](x []T) T {
	x = slices.Clone(x)
	for d := 1; d < len(x); d *= 2 {
		for i := 0; i < len(x); i += 2 * d {
			x[i] += x[i+d]
		}
	}
	return x[0]
}

// sumsOfTile returns the prefix sums of a tile and its sum.
func sumsOfTile[T Number](x []T, start T, exclusive uint32) (sums []T, sum T) {
	var threads, bases [Threads]T
	for i, v := range x {
		threads[i/Each] += v
	}
	for warp := 0; warp < Threads; warp += gpu.WarpSize {
		s := threads[warp : warp+gpu.WarpSize]
		for d := 1; d < len(s); d *= 2 {
			for i := len(s) - 1; i >= d; i-- {
				s[i] += s[i-d]
			}
		}
		for i := range s {
			bases[warp+i] = sum + start
			if i > 0 {
				bases[warp+i] += s[i-1]
			}
		}
		sum += s[len(s)-1]
	}
	for i, v := range x {
		s := &bases[i/Each]
		if exclusive != 0 {
			sums = append(sums, *s)
		}
		if *s += v; exclusive == 0 {
			sums = append(sums, *s)
		}
	}
	return sums, sum
}

// words returns the words after that number of tiles.
func (o ordered[T]) words(tiles int) []uint64 {
	s := states[T]{make([]uint64, Words(uint64(len(o.sums)), size[T]())), false}
	for i := range tiles {
		s.publish(wordOfTile[T](i), o.tiles[i])
	}
	for i := range tiles / group {
		s.publish(wordOfGroup[T](i), o.groups[i])
	}
	for i := range tiles / (group * group) {
		s.publish(wordOfSection[T](i), o.sections[i])
	}
	s.words[counter] = uint64(tiles)
	return s.words
}

func wordOfTile[T Number](i int) uint32 {
	return groupsOf[T](uint32(i/(group*group))) + uint32(1+i/group%group)*window[T]() + uint32(i%group)
}

func wordOfGroup[T Number](i int) uint32 { return groupsOf[T](uint32(i/group)) + uint32(i%group) }

func wordOfSection[T Number](i int) uint32 { return groupsOf[T](uint32(i)) - window[T]() }

func compareWords[T Number](t *testing.T, j *job[T], want []uint64) {
	t.Helper()
	got := make([]uint64, j.words.Len())
	mustOf(t)(j.words.CopyTo(got))
	for i, v := range got {
		if v != want[i] {
			t.Fatalf("word %d is %#x, want %#x", i, v, want[i])
		}
	}
}
