package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// An upload does its work once, until something of the exec is changed.
func TestUploadIsDoneOncePerChange(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	b := k.memory()
	g := k.graph()
	l := k.launch(k.plus, b, 1)
	n := k.add(g, l)
	child, err := g.AddChild(k.captured([]driver.Op{l}, nil))
	k.ok(err)
	x := k.exec(g)
	uploads := func() (n int) {
		lib.Count()
		k.ok(x.Upload(k.s))
		k.ok(x.Upload(k.s))
		for _, c := range lib.Stop() {
			if c.Symbol == "cuGraphUpload" {
				n++
			}
		}
		return n
	}
	bs := x.Bindings()
	p, err := graph.Bind[uint32](bs, n, l, 2)
	k.ok(err)
	for what, change := range map[string]func() error{
		"nothing":  func() error { return nil },
		"Set":      func() error { return x.Set(n, l) },
		"SetBatch": func() error { return x.SetBatch([]graph.Change{{Node: n, Op: l}}) },
		"Enable":   func() error { return x.Enable(n, true) },
		"SetChild": func() error { return x.SetChild(child, k.captured([]driver.Op{l}, nil)) },
		"Update":   func() error { _, err := x.Update(g); return err },
		"Bindings": func() error { p.Set(3); return bs.Send() },
	} {
		k.ok(x.Upload(k.s))
		k.ok(change())
		want := 1
		if what == "nothing" {
			want = 0
		}
		if x.Uploaded() != (want == 0) {
			k.Errorf("after %s: uploaded %v", what, x.Uploaded())
		}
		if n := uploads(); n != want {
			k.Errorf("after %s: %d uploads, want %d", what, n, want)
		}
	}
	k.run(x)
}
