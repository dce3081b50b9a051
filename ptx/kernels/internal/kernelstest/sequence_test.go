package kernelstest

import (
	"context"
	"fmt"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/ptx/kernels"
)

// do runs the operations of an algorithm.
func (k *kit) do(ops []driver.Op, err error) []driver.Op {
	k.Helper()
	k.ok(err)
	k.ok(k.s.Do(ops...))
	k.ok(k.s.Wait(context.Background()))
	return ops
}

// workspaceOf returns a workspace with a number of bytes.
func workspaceOf(k *kit, bytes ...int) *kernels.Workspace {
	k.Helper()
	w, err := kernels.NewWorkspace(k.c, bytes...)
	k.ok(err)
	k.closeLater(w)
	return w
}

// sequence makes the operations of an algorithm with several launches, with the operands of round 0
// or 1.
type sequence = func(round int, again ...driver.Op) ([]driver.Op, error)

// sequences returns a sequence for every kernel of such algorithms.
func sequences(k *kit) map[string]sequence {
	k.Helper()
	all := make(map[string]sequence)
	keySequences[uint32](k, all, "uint32")
	keySequences[int32](k, all, "int32")
	keySequences[float32](k, all, "float32")
	keySequences[uint64](k, all, "uint64")
	keySequences[int64](k, all, "int64")
	keySequences[float64](k, all, "float64")
	rowSequences[float32](k, all, "float32")
	rowSequences[kernels.F16](k, all, "f16")
	fftWork := workspaceOf(k, kernels.FFTWorkspace(1<<15, 1))
	x := [2]driver.MemoryOf[complex64]{buffer(k, 0, make([]complex64, 1<<15)), buffer(k, 1, make([]complex64, 1<<15))}
	y := [2]driver.MemoryOf[complex64]{buffer(k, 0, make([]complex64, 1<<15)), buffer(k, 1, make([]complex64, 1<<15))}
	for _, n := range []int{64, 1 << 15} {
		all[fmt.Sprint("FFT ", n)] = func(i int, again ...driver.Op) ([]driver.Op, error) {
			return kernels.FFT(y[i], x[i], n, i == 1, float32(i+1), fftWork, again...)
		}
	}
	return all
}

func keySequences[T kernels.Scalar](k *kit, all map[string]sequence, name string) {
	k.Helper()
	lengths := [2]int{3000, 2990}
	var src, dst [2]driver.MemoryOf[T]
	var v32, to32 [2]driver.MemoryOf[uint32]
	var v64, to64 [2]driver.MemoryOf[float64]
	for i, n := range lengths {
		src[i], dst[i] = device(k, 0, make([]T, n)), alloc[T](k, n)
		v32[i], to32[i] = device(k, 0, make([]uint32, n)), alloc[uint32](k, n)
		v64[i], to64[i] = device(k, 0, make([]float64, n)), alloc[float64](k, n)
	}
	n := lengths[0]
	work := workspaceOf(k, kernels.ScanWorkspace[T](n), kernels.SortPairsWorkspace[T, float64](n))
	all["InclusiveSum "+name] = func(i int, again ...driver.Op) ([]driver.Op, error) {
		return kernels.InclusiveSum(dst[i], src[i], work, again...)
	}
	all["ExclusiveSum "+name] = func(i int, again ...driver.Op) ([]driver.Op, error) {
		return kernels.ExclusiveSum(dst[i], src[i], work, again...)
	}
	all["Sort "+name] = func(i int, again ...driver.Op) ([]driver.Op, error) {
		return kernels.Sort(dst[i], src[i], i == 1, work, again...)
	}
	all["SortPairs 32 "+name] = func(i int, again ...driver.Op) ([]driver.Op, error) {
		return kernels.SortPairs(dst[i], src[i], to32[i], v32[i], i == 1, work, again...)
	}
	all["SortPairs 64 "+name] = func(i int, again ...driver.Op) ([]driver.Op, error) {
		return kernels.SortPairs(dst[i], src[i], to64[i], v64[i], i == 1, work, again...)
	}
}

func rowSequences[T float32 | kernels.F16](k *kit, all map[string]sequence, name string) {
	k.Helper()
	const n, found = 40000, 7
	work := workspaceOf(k, kernels.TopKWorkspace(1, found))
	var src, values [2]driver.MemoryOf[T]
	var index [2]driver.MemoryOf[int64]
	for i := range 2 {
		src[i], values[i], index[i] = device(k, 0, make([]T, n)), alloc[T](k, found), alloc[int64](k, found)
	}
	all["TopK "+name] = func(i int, again ...driver.Op) ([]driver.Op, error) {
		cols := n - 100*i
		return kernels.TopK(kernels.MatrixOf(values[i], 1, found), kernels.MatrixOf(index[i], 1, found), kernels.MatrixOf(src[i], 1, cols), true, work, again...)
	}
}

// A graph of a sequence can be launched repeatedly: the operations clear their part of the workspace.
func TestSequencesInGraphs(t *testing.T) {
	each(t, func(k *kit) {
		for name, make := range sequences(k) {
			ops, err := make(0)
			k.ok(err)
			g, err := graph.New(k.c)
			k.ok(err)
			k.closeLater(g)
			_, err = g.AddBatch(nil, graph.Chain(ops))
			k.ok(err)
			x, err := g.Instantiate()
			k.ok(err)
			k.closeLater(x)
			for range 2 {
				if err := x.Run(context.Background(), k.s); err != nil {
					k.Errorf("%s: %v", name, err)
				}
			}
		}
	})
}
