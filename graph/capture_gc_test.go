package graph_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

const (
	droppers       = 8
	droppedByEach  = 20
	kindsOfDropped = 5
)

// While a GLOBAL capture is open, CUDA refuses cuMemFree and its like on every
// thread of the process, and the attempt destroys the capture. What the
// collector finds then must be given back without that.
func TestGlobalCaptureSurvivesReclamationOnOtherThreads(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		launch := k.launch(k.plus, b, 1)
		held := make([][]any, droppers)
		for i := range held {
			held[i] = disposable(k)
		}
		const launches = 100
		g, err := graph.Capture(k.s, graph.ModeGlobal, func(scope *graph.Scope) error {
			for i := range launches {
				if err := scope.Do(launch); err != nil {
					return err
				}
				if i == launches/2 {
					dropAll(held)
					gputest.ExpectDropped(k, k.c.Device().Driver(), droppers*droppedByEach*kindsOfDropped)
				}
			}
			return nil
		})
		k.ok(err)
		k.closeLater(g)
		k.run(k.exec(g))
		k.expect(b, 1+launches)
	})
}

// disposable makes some of everything whose destruction could disturb a capture.
func disposable(k *kit) (all []any) {
	k.Helper()
	for range droppedByEach {
		b, err1 := driver.Alloc[byte](k.c, 1000)
		h, err2 := driver.AllocHost[byte](k.c, 1000)
		s, err3 := k.c.NewStream()
		m, err4 := k.c.LoadModule([]byte(kernels))
		g, err5 := graph.New(k.c)
		k.ok(errors.Join(err1, err2, err3, err4, err5))
		all = append(all, b, h, s, m, g)
	}
	return all
}

// dropAll forgets everything on goroutines of their own, which collect, too.
func dropAll(held [][]any) {
	var wg sync.WaitGroup
	for i := range held {
		wg.Go(func() {
			for j := range held[i] {
				held[i][j] = nil
				if j%16 == 0 {
					runtime.GC()
				}
			}
		})
	}
	wg.Wait()
}
