package graph_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

const zptx = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p){ret;}\n\x00"

func zsetup(b *testing.B) (*driver.Context, *driver.Launch) {
	lib, err := driver.SystemLibrary("/tmp/fake/libfake.so")
	if err != nil {
		b.Fatal(err)
	}
	d, err := driver.New(lib)
	if err != nil {
		b.Fatal(err)
	}
	dev, err := d.Device(0)
	if err != nil {
		b.Fatal(err)
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		b.Fatal(err)
	}
	m, err := c.LoadModule([]byte(zptx))
	if err != nil {
		b.Fatal(err)
	}
	k, err := m.Kernel("k")
	if err != nil {
		b.Fatal(err)
	}
	buf, err := driver.Alloc[uint32](c, 64)
	if err != nil {
		b.Fatal(err)
	}
	l, err := k.Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, buf)
	if err != nil {
		b.Fatal(err)
	}
	return c, l
}

func BenchmarkZAdd(b *testing.B) {
	c, l := zsetup(b)
	for b.Loop() {
		g, err := graph.New(c)
		if err != nil {
			b.Fatal(err)
		}
		var pn [1]graph.Node
		deps := pn[:0]
		for range 1000 {
			pn[0], err = g.Add(l, deps...)
			if err != nil {
				b.Fatal(err)
			}
			deps = pn[:1]
		}
		g.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/node")
}

func BenchmarkZRawAdd(b *testing.B) {
	c, l := zsetup(b)
	d := c.Driver()
	var n, p driver.CUgraphNode
	for b.Loop() {
		for range 1000 {
			d.CuGraphAddKernelNode(&n, 0x55, &p, 1, l.KernelNodeParams())
			p = n
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/node")
}

func BenchmarkZChain(b *testing.B) {
	c, l := zsetup(b)
	ops := make([]driver.Op, 1000)
	for i := range ops {
		ops[i] = l
	}
	var dst []graph.Node
	for b.Loop() {
		g, err := graph.New(c)
		if err != nil {
			b.Fatal(err)
		}
		dst, err = g.AddChain(dst[:0], ops)
		if err != nil {
			b.Fatal(err)
		}
		g.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/node")
}

func BenchmarkZSet(b *testing.B) {
	c, l := zsetup(b)
	g, err := graph.New(c)
	if err != nil {
		b.Fatal(err)
	}
	n, err := g.Add(l)
	if err != nil {
		b.Fatal(err)
	}
	x, err := g.Instantiate()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := x.Set(n, l); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkZLaunch(b *testing.B) {
	c, l := zsetup(b)
	g, err := graph.New(c)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := g.Add(l); err != nil {
		b.Fatal(err)
	}
	x, err := g.Instantiate()
	if err != nil {
		b.Fatal(err)
	}
	s, err := c.NewStream()
	if err != nil {
		b.Fatal(err)
	}
	e, err := c.NewEvent()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("exec", func(b *testing.B) {
		for b.Loop() {
			x.Launch(s)
		}
	})
	b.Run("do", func(b *testing.B) {
		for b.Loop() {
			s.Do(l)
		}
	})
	b.Run("record", func(b *testing.B) {
		for b.Loop() {
			s.Record(e)
		}
	})
	b.Run("getcurrent", func(b *testing.B) {
		var cc driver.CUcontext
		for b.Loop() {
			c.Device().Driver().CuCtxGetCurrent(&cc)
		}
	})
	b.Run("getcurrentbound", func(b *testing.B) {
		var cc driver.CUcontext
		for b.Loop() {
			c.Driver().CuCtxGetCurrent(&cc)
		}
	})
}
