package kernelfault_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/imagetest"
	"github.com/purecuda/cuda/internal/kernelfault"
	"github.com/purecuda/cuda/loader"
)

// printing is a module whose kernel prints the line "text".
const printing = `.version 7.0
.target sm_52
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 line[] = {116, 101, 120, 116, 10, 0};
.visible .entry say()
{
	.reg .b64 %rd<3>;
	mov.u64 %rd1, line;
	cvta.global.u64 %rd1, %rd1;
	mov.u64 %rd2, 0;
	{
		.param .b64 p0;
		.param .b64 p1;
		.param .b32 r;
		st.param.b64 [p0], %rd1;
		st.param.b64 [p1], %rd2;
		call.uni (r), vprintf, (p0, p1);
	}
	ret;
}
`

// printed lists the calls that print text: the synchronization of the stream in which nothing runs,
// and the flush of C's standard output.
var printed = []string{"cuStreamSynchronize", "fflush"}

// calls records "fflush" and the driver calls that create, destroy and synchronise streams, destroy
// contexts, and unload modules.
type calls struct {
	mu   sync.Mutex
	list []string
}

func (c *calls) add(symbol string) {
	name, _, _ := strings.Cut(symbol, "_")
	switch name {
	case "cuStreamCreate", "cuStreamDestroy", "cuStreamSynchronize", "cuModuleUnload", "cuDevicePrimaryCtxRelease", "fflush":
		c.mu.Lock()
		c.list = append(c.list, name)
		c.mu.Unlock()
	}
}

// take returns the calls since the previous take.
func (c *calls) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.list
	c.list = nil
	return list
}

func (c *calls) want(t *testing.T, what string, names ...string) {
	t.Helper()
	if got := c.take(); !slices.Equal(got, names) {
		t.Errorf("%s: the calls are %q, not %q", what, got, names)
	}
}

// watched returns an emulated context, its library, whose calls can be made to fail, and the record
// of its calls.
func watched(t *testing.T, cfg emulator.Config) (c *driver.Context, lib *faulty.Library, of *calls) {
	t.Helper()
	if cfg.Stdout == nil {
		cfg.Stdout = io.Discard
	}
	of = &calls{}
	t.Cleanup(kernelfault.SetFlush(func() error { of.add("fflush"); return nil }))
	lib = faulty.Wrap(emulator.New(cfg))
	d := gputest.Driver(t, lib)
	c = must(must(d.Device(0))(t).PrimaryContext())(t)
	t.Cleanup(func() { ok(t, c.Close()) })
	lib.Before(of.add)
	return c, lib, of
}

func say(t *testing.T, m kernels, s *driver.Stream) {
	t.Helper()
	k := must(m.Kernel("say"))(t)
	ok(t, k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}))
}

// Each kind of wait must print text when the work is done. The first wait creates the stream.
func TestEveryWaitPrints(t *testing.T) {
	var out bytes.Buffer
	c, _, of := watched(t, emulator.Config{Stdout: &out})
	m := must(c.LoadModule([]byte(printing)))(t)
	s := stream(t, c)
	soon, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	say(t, m, s)
	ok(t, s.Wait(soon))
	of.want(t, "the first wait", append([]string{"cuStreamCreate"}, printed...)...)
	e, legacy := must(c.NewEvent())(t), must(c.NewStream(driver.WithLegacySync()))(t)
	buf := buffer(t, c, 32)
	g := must(graph.New(c))(t)
	must(g.Add(must(must(m.Kernel("say"))(t).Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}))(t)))(t)
	x := must(g.Instantiate())(t)
	of.take()
	lines := 1
	for _, w := range []struct {
		name string
		wait func() error
	}{
		{"Stream.Wait", func() error { return s.Wait(context.Background()) }},
		{"Stream.Wait with a context", func() error { return s.Wait(soon) }},
		{"Stream.Query", func() error { return poll(s.Query) }},
		{"Event.Wait", func() error { return e.Wait(soon) }},
		{"Event.Query", func() error { return poll(e.Query) }},
		{"Context.Synchronize", func() error { return c.Synchronize(context.Background()) }},
		{"Context.Synchronize with a context", func() error { return c.Synchronize(soon) }},
		{"Exec.Run", func() error { lines++; return x.Run(soon, s) }},
		{"View.CopyTo", func() error { return buf.CopyTo(make([]uint32, 32)) }},
	} {
		say(t, m, s)
		lines++
		ok(t, s.Record(e))
		ok(t, w.wait())
		of.want(t, w.name, printed...)
		ok(t, c.Synchronize(soon))
		of.take()
	}
	if got, want := out.String(), strings.Repeat("text\n", lines); got != want {
		t.Errorf("the emulator printed %q, not %q", got, want)
	}
	ok(t, errors.Join(x.Close(), g.Close(), legacy.Close(), e.Close(), m.Close()))
}

// Without a loaded module that may print, waits must make no additional calls.
func TestOnlyModulesThatPrintCost(t *testing.T) {
	c, _, of := watched(t, emulator.Config{})
	index, s, out := load(t, c, "index"), stream(t, c), buffer(t, c, 32)
	of.take()
	quiet := func(when string) {
		t.Helper()
		launchIndex(t, kernel(t, index, "index"), s, 1, out, 32, 0)
		ok(t, wait(t, s))
		ok(t, c.Synchronize(t.Context()))
		of.want(t, when)
	}
	quiet("without a module that prints")
	first, second := must(c.LoadModule([]byte(printing)))(t), must(c.LoadModule([]byte(printing)))(t)
	ok(t, wait(t, s))
	ok(t, first.Close())
	of.want(t, "with two modules", "cuStreamCreate", "cuStreamSynchronize", "fflush", "cuStreamSynchronize", "fflush", "cuModuleUnload")
	ok(t, wait(t, s))
	of.want(t, "with one module", printed...)
	ok(t, second.Close())
	of.take()
	quiet("after the modules were closed")
}

// Every way to load code must determine whether its kernels may print.
func TestEveryLoadFindsText(t *testing.T) {
	c, _, of := watched(t, emulator.Config{})
	s, silent := stream(t, c), strings.NewReplacer("vprintf", "vprint").Replace(printing)
	silent, _, _ = strings.Cut(silent, ".extern")
	silent += ".visible .entry say() { ret; }\n"
	arch := must(c.Device().Arch())(t)
	fatbin := func(text string, flags, size uint64) []byte {
		e := imagetest.Entry(1, uint32(10*arch.Major+arch.Minor), flags, []byte(text))
		for i := range 8 {
			e[56+i] = byte(size >> (8 * i))
		}
		return imagetest.Fatbin(e)
	}
	for name, load := range map[string]func(text string) (kernels, error){
		"LoadModule":  func(text string) (kernels, error) { return c.LoadModule([]byte(text)) },
		"LoadLibrary": func(text string) (kernels, error) { return c.LoadLibrary([]byte(text)) },
		"ImageSet.Lazy": func(text string) (kernels, error) {
			return must(driver.NewImageSet(must(image.Parse("a", []byte(text)))(t)))(t).Lazy(c), nil
		},
		"Linker.Load": func(text string) (kernels, error) {
			l := must(c.NewLinker())(t)
			defer l.Close()
			ok(t, l.Add("a", []byte(text)))
			return l.Load()
		},
		"fat binary": func(text string) (kernels, error) { return c.LoadModule(fatbin(text, 0, 0)) },
	} {
		for _, text := range []string{silent, printing} {
			m := must(load(text))(t)
			say(t, m, s)
			of.take()
			ok(t, wait(t, s))
			got := slices.DeleteFunc(of.take(), func(name string) bool { return name == "cuStreamCreate" })
			if prints := text == printing; prints != slices.Equal(got, printed) || !prints && len(got) > 0 {
				t.Errorf("%s: the module prints: %t; the calls are %q", name, prints, got)
			}
			ok(t, m.Close())
		}
	}
}

// When a context is closed, it must print the output of its embedded modules before it unloads them,
// and must destroy the stream.
func TestClosedContextPrints(t *testing.T) {
	of := &calls{}
	defer kernelfault.SetFlush(func() error { of.add("fflush"); return nil })()
	flags := &streamFlags{Library: emulator.New(emulator.Config{Stdout: io.Discard})}
	lib := faulty.Wrap(flags)
	d := gputest.Driver(t, lib)
	lib.Before(of.add)
	c := must(must(d.Device(0))(t).PrimaryContext())(t)
	m, s := must(c.Embedded("say", []byte(printing)))(t), must(c.NewStream())(t)
	say(t, m, s)
	ok(t, wait(t, s))
	ok(t, s.Close())
	of.want(t, "the wait", "cuStreamCreate", "cuStreamSynchronize", "fflush", "cuStreamDestroy")
	ok(t, c.Close())
	of.want(t, "Close", "cuStreamSynchronize", "fflush", "cuModuleUnload", "cuStreamDestroy", "cuDevicePrimaryCtxRelease", "fflush")
	if !slices.Equal(flags.seen, []uint32{uint32(cu.CU_STREAM_NON_BLOCKING)}) {
		t.Errorf("the flags of streams are %v", flags.seen)
	}
}

// streamFlags records the flags of the streams that cuStreamCreate creates.
type streamFlags struct {
	loader.Library
	seen []uint32
}

func (f *streamFlags) Lookup(symbol string) (loader.Proc, error) {
	p, err := f.Library.Lookup(symbol)
	if symbol != "cuStreamCreate" {
		return p, err
	}
	return loader.FuncProc(func(a loader.Args) uintptr {
		f.seen = append(f.seen, a.Uint32(1))
		return a.Forward(&p)
	}), err
}

// If the driver cannot print, waits must succeed, the context must note the error, and the next
// wait must try again. No stream may leak.
func TestWaitsSucceedIfTextCannotBePrinted(t *testing.T) {
	failing := errors.New("the output is closed")
	for _, name := range []string{"cuStreamCreate", "cuStreamSynchronize", "fflush"} {
		c, lib, of := watched(t, emulator.Config{})
		m, s := must(c.LoadModule([]byte(printing)))(t), must(c.NewStream())(t)
		say(t, m, s)
		lib.FailCall(name, 1, uint32(driver.CUDA_ERROR_OUT_OF_MEMORY))
		restore := func() {}
		if name == "fflush" {
			restore = kernelfault.SetFlush(func() error { return failing })
		}
		ok(t, wait(t, s))
		restore()
		lib.Count()
		noted := c.CleanupErrors()
		if len(noted) != 1 || !errors.Is(noted[0], driver.CUDA_ERROR_OUT_OF_MEMORY) && !errors.Is(noted[0], failing) ||
			!strings.Contains(noted[0].Error(), "text of kernels") {
			t.Errorf("%s failed, and the context noted %v", name, noted)
		}
		of.take()
		ok(t, wait(t, s))
		if got := of.take(); !slices.Equal(got[len(got)-2:], printed) {
			t.Errorf("after %s had failed, the calls are %q", name, got)
		}
		ok(t, errors.Join(m.Close(), s.Close(), c.Close()))
		of.take()
		made, destroyed := 0, 0
		for _, call := range lib.Stop() {
			if n, _, _ := strings.Cut(call.Symbol, "_"); n == "cuStreamDestroy" {
				destroyed++
			} else if n == "cuStreamCreate" && call.Result == 0 {
				made++
			}
		}
		want := 2 // s, and the printer's stream, created by this wait or an earlier one
		if destroyed != want || made > 1 {
			t.Errorf("%s: %d streams made and %d destroyed", name, made, destroyed)
		}
	}
}

// Goroutines that wait concurrently must create only one stream, and each of them must print.
func TestManyWaitsPrint(t *testing.T) {
	c, _, of := watched(t, emulator.Config{})
	m := must(c.LoadModule([]byte(printing)))(t)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	const n, rounds = 16, 20
	for range n {
		s := stream(t, c)
		wg.Go(func() {
			<-begin
			for range rounds {
				say(t, m, s)
				ok(t, wait(t, s))
			}
		})
	}
	of.take()
	close(begin)
	wg.Wait()
	count := map[string]int{}
	for _, name := range of.take() {
		count[name]++
	}
	if count["cuStreamCreate"] != 1 || count["cuStreamSynchronize"] < n*rounds || count["fflush"] != count["cuStreamSynchronize"] {
		t.Errorf("the calls are %v", count)
	}
	ok(t, m.Close())
}

// A wait for one stream must not wait for the work of another one, even if that stream is ordered
// with the legacy stream. It must not end a capture.
func TestPrintingDoesNotDisturb(t *testing.T) {
	test := func(t *testing.T, c *driver.Context) {
		defer kernelfault.SetFlush(func() error { return nil })()
		m := must(c.LoadModule([]byte(printing)))(t)
		s, busy, recording := stream(t, c), must(c.NewStream(driver.WithLegacySync()))(t), stream(t, c)
		// On driver 580, the first wait of a context whose kernels print lasts until a host function of
		// another stream has returned. So the host function begins after that wait.
		say(t, m, s)
		ok(t, wait(t, s))
		gate := make(chan struct{})
		ok(t, busy.HostFunc(func() { <-gate }))
		var over atomic.Bool
		time.AfterFunc(patience, func() {
			if !over.Swap(true) {
				close(gate)
			}
		})
		g, err := graph.Capture(recording, graph.ModeGlobal, func(*graph.Scope) error {
			say(t, m, recording)
			say(t, m, s)
			return s.Wait(t.Context())
		})
		if over.Swap(true) {
			t.Error("the wait waited for another stream")
		} else {
			close(gate)
		}
		ok(t, err)
		ok(t, wait(t, busy))
		ok(t, errors.Join(g.Close(), busy.Close(), m.Close()))
	}
	t.Run("emulator", func(t *testing.T) { gputest.OnEmulator(t, emulator.Config{Stdout: io.Discard}, test) })
	t.Run("gpu", func(t *testing.T) { gputest.OnGPU(t, test) })
}
