package graph_test

import (
	"errors"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/vulkantest"
)

// vulkanSemaphore makes a timeline semaphore in Vulkan and imports it.
func vulkanSemaphore(k *kit) (*vulkantest.Semaphore, *driver.ExternalSemaphore) {
	k.Helper()
	d, err := vulkantest.Open()
	if err != nil {
		k.Skip("no semaphores of another API: ", err)
	}
	k.closeLater(d)
	theirs, err := d.NewSemaphore()
	k.ok(err)
	k.closeLater(theirs)
	fd, err := theirs.FD()
	k.ok(err)
	ours, err := k.c.ImportSemaphoreFD(timelineFD, fd)
	k.ok(err)
	k.closeLater(ours)
	return theirs, ours
}

// A graph on a real device waits for what another API signals and signals it
// back: nodes by hand, set on the exec and on the graph, and captured.
func TestSemaphoreNodesMeetVulkan(t *testing.T) {
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		theirs, ours := vulkanSemaphore(k)
		b := k.memory()
		signal, err := driver.NewSemaphoreSignal(driver.SemaphorePoint{Semaphore: ours, Value: 4})
		k.ok(err)
		wait, err := driver.NewSemaphoreWait(driver.SemaphorePoint{Semaphore: ours, Value: 3})
		k.ok(err)
		l := k.launch(k.plus, b, 1)
		g := k.graph()
		w := k.add(g, wait)
		s := k.add(g, signal, k.add(g, l, w))
		x := k.exec(g)
		vulkanAnswers(k, x, theirs, 3, 4)
		k.expect(b, 2)

		k.ok(errors.Join(wait.SetValue(0, 6), signal.SetValue(0, 7)))
		k.ok(errors.Join(x.Set(w, wait), x.Set(s, signal)))
		vulkanAnswers(k, x, theirs, 6, 7)
		k.expect(b, 3)

		k.ok(errors.Join(wait.SetValue(0, 9), signal.SetValue(0, 10)))
		k.ok(errors.Join(w.Set(wait), s.Set(signal)))
		vulkanAnswers(k, k.exec(g), theirs, 9, 10)
		k.expect(b, 4)

		k.ok(errors.Join(wait.SetValue(0, 12), signal.SetValue(0, 13)))
		captured := k.capture(func(sc *graph.Scope) error { return sc.Do(wait, l, signal) })
		k.types(captured, []graph.Type{cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL})
		vulkanAnswers(k, k.exec(captured), theirs, 12, 13)
		k.expect(b, 5)
	})
}

// vulkanAnswers launches, sees that the graph waits, lets it go on from Vulkan's
// side and sees its answer there.
func vulkanAnswers(k *kit, x *graph.Exec, theirs *vulkantest.Semaphore, value, answer uint64) {
	k.Helper()
	k.ok(x.Launch(k.s))
	time.Sleep(5 * time.Millisecond)
	if done, err := k.s.Query(); done || err != nil {
		k.Fatalf("the graph did not wait: %v, %v", done, err)
	}
	k.ok(theirs.Signal(value))
	k.wait(k.s)
	if v, err := theirs.Value(); err != nil || v != answer {
		k.Errorf("the semaphore has %d (%v), want %d", v, err, answer)
	}
}
