package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// A refused operation is named in the error, and the graph, its executable form
// and the context work as before.
func TestRefusedOperationsAreNamedAndLeaveTheGraphUsable(t *testing.T) {
	each(t, func(k *kit) {
		b, gone := k.memory(), k.memoryOf(1)
		g := k.graph()
		n := k.add(g, k.launch(k.plus, b, 1))
		x := k.exec(g)
		dead := k.launch(k.plus, gone, 1)
		copyOfGone, err := driver.CopyDevice(b, gone)
		k.ok(err)
		fillOfGone, err := driver.Fill(gone, 1)
		k.ok(err)
		k.ok(gone.Close())
		other := gputest.Context(k, gputest.Emulator(k, emulator.Config{Name: "the other"}))
		far, err := driver.Alloc[uint32](other, 1)
		k.ok(err)
		k.closeLater(far)
		foreign, err := driver.Fill(far, 1)
		k.ok(err)
		event, err := other.NewEvent()
		k.ok(err)
		k.closeLater(event)
		shut, err := k.c.NewEvent()
		k.ok(err)
		k.ok(shut.Close())
		for _, c := range []struct {
			op    driver.Op
			want  error
			words string
		}{
			{dead, driver.ErrClosed, "kernel plus|buffer of uint32"},
			{copyOfGone, driver.ErrClosed, "device copy|buffer of uint32"},
			{fillOfGone, driver.ErrClosed, "fill|buffer of uint32"},
			{foreign, driver.CUDA_ERROR_INVALID_VALUE, "fill|another driver"},
			{driver.WaitOp(event), driver.CUDA_ERROR_INVALID_VALUE, "event|another driver"},
			{driver.RecordOp(shut), driver.ErrClosed, "event"},
			{driver.RecordOp(nil), driver.CUDA_ERROR_INVALID_VALUE, "event"},
			{(*driver.CopyOp)(nil), driver.CUDA_ERROR_INVALID_VALUE, "copy"},
			{(*driver.FillOp)(nil), driver.CUDA_ERROR_INVALID_VALUE, "fill"},
			{(*driver.HostFunc)(nil), driver.CUDA_ERROR_INVALID_VALUE, "host function"},
			{(*driver.MemOp)(nil), driver.CUDA_ERROR_INVALID_VALUE, "memory operation"},
			{(*driver.EventOp)(nil), driver.CUDA_ERROR_INVALID_VALUE, "event operation"},
		} {
			for how, err := range map[string]error{
				"added": second(g.Add(c.op)), "set": n.Set(c.op), "set in the executable": x.Set(n, c.op),
			} {
				if how == "added" && !errors.Is(err, c.want) {
					k.Errorf("%v %s: %v, want %v", c.op, how, err, c.want)
				}
				if err == nil {
					k.Errorf("%v %s: no error", c.op, how)
					continue
				}
				for _, word := range strings.Split(c.words, "|") {
					if how == "added" && !strings.Contains(err.Error(), word) {
						k.Errorf("%v %s: the error does not say %q: %v", c.op, how, word, err)
					}
				}
			}
		}
		if count, err := g.Len(); count != 1 || err != nil {
			k.Errorf("%d nodes after the refusals, %v", count, err)
		}
		k.run(x)
		k.expect(b, 2)
		k.run(k.exec(g))
		k.expect(b, 3)
	})
}

func second[T any](_ T, err error) error { return err }
