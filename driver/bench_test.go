package driver_test

import (
	"context"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// The benchmarks run on a GPU if there is one, and otherwise on the emulator. On the emulator, they
// measure only the library's own cost. The programs in bench/ compare the same calls with C.

const benchKernel = `.version 7.0
.target sm_50
.address_size 64
.visible .entry add(.param .u64 p, .param .u32 n)
{
	.reg .b64 %p;
	.reg .b32 %v, %n;
	ld.param.u64 %p, [p];
	ld.param.u32 %n, [n];
	cvta.to.global.u64 %p, %p;
	ld.global.u32 %v, [%p];
	add.u32 %v, %v, %n;
	st.global.u32 [%p], %v;
	ret;
}
`

// queued is the number of operations enqueued between waits. The driver's queue holds about a
// thousand operations. A call blocks if the queue is full.
const queued = 500

func benchContext(b *testing.B) *driver.Context {
	b.Helper()
	if driver.Available() == nil {
		return gputest.Context(b, gputest.GPU(b))
	}
	return gputest.Context(b, gputest.Emulator(b, emulator.Config{}))
}

func benchStream(b *testing.B, c *driver.Context) *driver.Stream {
	b.Helper()
	s, err := c.NewStream()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { closeBench(b, s) })
	return s
}

func benchLaunch(b *testing.B, c *driver.Context) *driver.Launch {
	b.Helper()
	m, err := c.LoadModule([]byte(benchKernel))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { closeBench(b, m) })
	k, err := m.Kernel("add")
	if err != nil {
		b.Fatal(err)
	}
	p, err := driver.AllocFrom(c, []uint32{0})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { closeBench(b, p) })
	l, err := k.Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, p, uint32(1))
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func closeBench(b *testing.B, c interface{ Close() error }) {
	b.Helper()
	if err := c.Close(); err != nil {
		b.Error(err)
	}
}

// asynchronous benchmarks the operation that send enqueues in s. It reports the time to enqueue as
// host-ns/op, because ns/op includes the waits.
func asynchronous(b *testing.B, s *driver.Stream, send func() error) {
	b.Helper()
	b.ReportAllocs()
	if err := send(); err != nil {
		b.Fatal(err)
	}
	var host time.Duration
	b.ResetTimer()
	for done := 0; done < b.N; done += queued {
		begin := time.Now()
		for range min(queued, b.N-done) {
			if err := send(); err != nil {
				b.Fatal(err)
			}
		}
		host += time.Since(begin)
		if err := s.Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(host)/float64(b.N), "host-ns/op")
}

func BenchmarkCtxGetCurrent(b *testing.B) {
	d := benchContext(b).Device().Driver()
	b.ReportAllocs()
	var current driver.CUcontext
	for b.Loop() {
		if err := d.CuCtxGetCurrent(&current); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLaunch(b *testing.B) {
	c := benchContext(b)
	s, l := benchStream(b, c), benchLaunch(b, c)
	asynchronous(b, s, func() error { return s.Do(l) })
}

func BenchmarkLaunchWithAnotherArgument(b *testing.B) {
	c := benchContext(b)
	s, l := benchStream(b, c), benchLaunch(b, c)
	var n uint32
	asynchronous(b, s, func() error {
		n++
		if err := driver.SetArg(l, 1, n); err != nil {
			return err
		}
		return s.Do(l)
	})
}

func BenchmarkUpload4K(b *testing.B) {
	c := benchContext(b)
	s := benchStream(b, c)
	d, err := driver.Alloc[byte](c, 4096)
	if err != nil {
		b.Fatal(err)
	}
	defer closeBench(b, d)
	h, err := driver.AllocHost[byte](c, 4096)
	if err != nil {
		b.Fatal(err)
	}
	defer closeBench(b, h)
	op, err := driver.Upload(d, h)
	if err != nil {
		b.Fatal(err)
	}
	asynchronous(b, s, func() error { return s.Do(op) })
}

func BenchmarkEventRecord(b *testing.B) {
	for name, options := range map[string][]driver.EventOption{"WithoutTiming": nil, "WithTiming": {driver.WithTiming()}} {
		b.Run(name, func(b *testing.B) {
			c := benchContext(b)
			s := benchStream(b, c)
			e, err := c.NewEvent(options...)
			if err != nil {
				b.Fatal(err)
			}
			defer closeBench(b, e)
			asynchronous(b, s, func() error { return s.Record(e) })
		})
	}
}

func BenchmarkAllocAsyncAndClose(b *testing.B) {
	c := benchContext(b)
	s := benchStream(b, c)
	asynchronous(b, s, func() error {
		p, err := driver.AllocAsync[byte](s, 4096)
		if err != nil {
			return err
		}
		return p.Close()
	})
}

func BenchmarkStreamQuery(b *testing.B) {
	s := benchStream(b, benchContext(b))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Query(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	lib := benchContext(b).Device().Driver().Library()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := driver.New(lib); err != nil {
			b.Fatal(err)
		}
	}
}
