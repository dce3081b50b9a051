package radix

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/ptx/kernels/internal/kit"
)

func TestKernelsAreUpToDate(t *testing.T) { cudatest.CheckKernels(t) }

// order holds the arguments of flip.
type order[K Key] struct {
	name          string
	negative, all K
}

func orders[K Key]() []order[K] {
	top := ^(^K(0) >> 1)
	list := []order[K]{{"unsigned", 0, 0}, {"signed", 0, top}, {"float", ^top, top}}
	for _, o := range list[:3] {
		list = append(list, order[K]{o.name + ", descending", o.negative, ^o.all})
	}
	return list
}

func TestFlip(t *testing.T) {
	// From -NaN to NaN.
	floats := []uint32{0xffc00000, 0xff800000, 0xff7fffff, 0xbf800000, 0x80000001, 0x80000000, 0, 1, 0x3f800000, 0x7f800000, 0x7fc00000}
	ints := []uint32{0x80000000, 0x80000001, 0xffffffff, 0, 1, 0x7fffffff}
	for i, o := range orders[uint32]() {
		list := [][]uint32{{0, 1, 0x7fffffff, 0x80000000, 0xffffffff}, ints, floats}[i%3]
		for j, v := range list {
			f := flip(v, o.negative, o.all)
			if back := flipBack(f, o.negative, o.all); back != v {
				t.Errorf("%s: %x returns as %x", o.name, v, back)
			}
			if j > 0 && (flip(list[j-1], o.negative, o.all) < f) != (i < 3) {
				t.Errorf("%s: %x and %x are in the wrong order", o.name, list[j-1], v)
			}
		}
	}
}

func TestSort(t *testing.T) {
	k := kit.New(t, Module)
	sizes := []int{1, 2, 31, 33, 383, 385, 5000, Tile32 - 1, Tile32, Tile32 + 1, 3*Tile32 + 100}
	if testing.Short() {
		sizes = []int{1, 385, Tile32 + 1}
	}
	for _, n := range sizes {
		for i, o := range orders[uint32]() {
			for _, distinct := range []int{1, 3, 1 << 40} {
				if n > 5000 && (i%3 == 0 || distinct == 3) {
					continue
				}
				t.Run(fmt.Sprintf("%d/%s/%d", n, o.name, distinct), func(t *testing.T) {
					check[uint32, none](k.With(t), n, distinct, o)
					check[uint32, uint32](k.With(t), n, distinct, o)
				})
			}
		}
		for i, o := range orders[uint64]() {
			if n <= 5000 || i == 2 && n < Tile32 {
				t.Run(fmt.Sprintf("%d/%s/64", n, o.name), func(t *testing.T) {
					check[uint64, none](k.With(t), n, 1<<40, o)
					check[uint64, uint64](k.With(t), n, 1<<40, o)
				})
			}
		}
	}
	t.Run("mixed", func(t *testing.T) {
		check[uint32, uint64](k.With(t), 9000, 10, orders[uint32]()[2])
		check[uint32, uint64](k.With(t), 2*Tile32, 1<<40, orders[uint32]()[1])
		check[uint64, uint32](k.With(t), 9000, 10, orders[uint64]()[2])
	})
}

// none stands for the values of keys that have none.
type none = uint8

// check sorts n keys, in place.
func check[K Key, V none | b32 | b64](k *kit.Kit, n, distinct int, o order[K]) {
	k.Helper()
	r := rand.New(rand.NewPCG(uint64(n), uint64(distinct)))
	keys, values := make([]K, n), make([]V, n)
	for i := range keys {
		keys[i], values[i] = K(r.Uint64()), V(i)
		if distinct < 1<<40 {
			keys[i] = K(r.IntN(distinct)) << 13
		}
	}
	tile, passes, name := Tile32, 4, "32"
	if is64[K]() {
		tile, passes, name = Tile64, 8, "64"
	}
	tiles := (n + tile - 1) / tile
	head, a := kit.Device(k, 0, make([]uint32, HeadWords)), kit.Device(k, 0, make([]uint32, tiles*Digits))
	b := kit.Empty[uint32](k, tiles*Digits) // the first pass clears these counts
	x, tmp := kit.Device(k, 1, keys), kit.Empty[K](k, n)
	v, vTmp := kit.Device(k, 1, values), kit.Empty[V](k, n)
	k.Run("sort_count_b"+name, driver.LaunchConfig{Grid: driver.D1(2), Block: driver.D1(CountThreads)}, head, driver.In(x), uint64(n), o.negative, o.all)
	valueSize := uint32(unsafe.Sizeof(V(0)))
	if valueSize == 1 {
		valueSize = 0
	}
	kernel, shared := "sort_b"+name, uint32(Shared)
	if name == "32" {
		shared = SharedKeys32
		if valueSize > 0 {
			kernel, shared = "sort_pairs_b32", Shared
		}
	}
	for pass := range passes {
		cfg := driver.LaunchConfig{Grid: driver.D1(tiles), Block: driver.D1(Threads), SharedMem: shared}
		k.Run(kernel, cfg, driver.Out(tmp), driver.In(x), uint64(n), driver.Out(vTmp), driver.In(v), head, a, b, o.negative, o.all, uint32(pass), valueSize)
		x, tmp, v, vTmp, a, b = tmp, x, vTmp, v, b, a
	}
	type pair struct {
		key   K
		value V
	}
	want := make([]pair, n)
	for i := range want {
		want[i] = pair{keys[i], values[i]}
	}
	slices.SortStableFunc(want, func(a, b pair) int {
		return cmp.Compare(flip(a.key, o.negative, o.all), flip(b.key, o.negative, o.all))
	})
	gotKeys, gotValues := kit.Host(k, x), kit.Host(k, v)
	for i, w := range want {
		if gotKeys[i] != w.key {
			k.Fatalf("key %d is %x, want %x", i, gotKeys[i], w.key)
		}
		if valueSize > 0 && gotValues[i] != w.value {
			k.Fatalf("value %d is %d, want %d", i, gotValues[i], w.value)
		}
	}
}
