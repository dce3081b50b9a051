package driver_test

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/launch"
	"github.com/purecuda/cuda/loader"
)

// sent enqueues l and returns the bytes of the arguments that the driver received.
func (a *axpyFake) sent(t testing.TB, l *driver.Launch) [][]byte {
	t.Helper()
	noError(t, a.s.Do(l))
	var args [][]byte
	for _, b := range a.launch.args {
		args = append(args, slices.Clone(b))
	}
	return args
}

func TestCloneOfALaunchChangesByItself(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	before := a.sent(t, l)
	c := l.Clone()
	if got := a.sent(t, c); !slices.EqualFunc(got, before, slices.Equal) {
		t.Errorf("clone sends %v, not %v", got, before)
	}
	noError(t, driver.SetArg(c, 3, uint32(9)))
	noError(t, driver.SetArg(c, 0, a.y))
	noError(t, driver.SetArg(c, 4, shape{7, 8, 9}))
	noError(t, c.SetConfig(driver.LaunchConfig{Grid: driver.D1(5), Block: driver.D1(32)}))
	if got := a.sent(t, l); !slices.EqualFunc(got, before, slices.Equal) || a.launch.grid != driver.D1(2) {
		t.Errorf("the original sends %v, not %v", got, before)
	}
	got := a.sent(t, c)
	if n := binary.LittleEndian.Uint32(got[3]); n != 9 || binary.LittleEndian.Uint64(got[0]) != uint64(a.y.Ptr()) || got[4][0] != 7 || a.launch.grid != driver.D1(5) {
		t.Errorf("the clone sends %v", got)
	}
	if l.Block().SameRefs(c.Block()) || !l.Block().SameRefs(l.Clone().Block()) {
		t.Error("memory of one is taken for that of the other")
	}
	var none *driver.Launch
	if none.Clone() != nil {
		t.Error("clone of no launch")
	}
}

func TestChangeArgTellsWhatChanged(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	change := func(what string, want bool, changed bool, err error) {
		t.Helper()
		noError(t, err)
		if changed != want {
			t.Errorf("%s: changed %v", what, changed)
		}
	}
	set := func(v uint32) (bool, error) { return changeArg(l, 3, v) }
	buffer := func(b *driver.Buffer[float32]) (bool, error) { return changeArg(l, 0, b) }
	c, err := set(64)
	change("the same number", false, c, err)
	c, err = set(65)
	change("another number", true, c, err)
	c, err = buffer(a.x)
	change("the same memory", false, c, err)
	c, err = buffer(a.y)
	change("other memory", true, c, err)
	c, err = changeArg(l, 6, uint16(8))
	change("a half word", true, c, err)
	c, err = changeArg(l, 6, uint16(8))
	change("the same half word", false, c, err)
	_, err = changeArg(l, 9, 1)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "argument 9")
	_, err = changeArg(l, 3, float32(1))
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "argument 3")
}

func TestArgumentsAreFoundByNameAndCheckedByType(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	i, err := l.ArgIndex("alpha")
	noError(t, err)
	if i != 2 {
		t.Errorf("alpha is argument %d", i)
	}
	_, err = l.ArgIndex("gamma")
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "gamma", "alpha")
	_, err = l.ArgIndex("")
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE)
	must(driver.ArgOf[float32](l, 2))(t)
	must(driver.ArgOf[*driver.Buffer[float32]](l, 0))(t)
	must(driver.ArgOf[shape](l, 4))(t)
	_, err = driver.ArgOf[float64](l, 2)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "alpha")
	_, err = driver.ArgOf[any](l, 2)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "alpha")
	_, err = driver.ArgOf[int32](nil, 0)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE)
	if p := launch.Plain[float32](l.Block(), 2); p == nil || *p != launch.WordOf(float32(2.5)) {
		t.Error("alpha is not where it is said to be")
	}
	if launch.Plain[uint16](l.Block(), 6) != nil || launch.Plain[shape](l.Block(), 4) != nil || launch.Plain[*driver.Buffer[float32]](l.Block(), 0) != nil || launch.Plain[uint32](l.Block(), 2) != nil {
		t.Error("an argument that is more than a number of its type has a fast path")
	}
}

// A Batch copies the arguments of a launch when the launch is added. Later changes to the launch
// must not affect the batch. After Empty, the batch reuses the space of earlier launches.
func TestLaunchesHaveTheArgumentsOfTheMoment(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	b := launch.NewBatch()
	b.Reset(&a.c.Driver().Driver, a.s.Raw())
	want := a.sent(t, l)
	b.Add(l.Block())
	noError(t, driver.SetArg(l, 3, uint32(9)))
	noError(t, driver.SetArg(l, 4, shape{7, 8, 9}))
	done, err := b.Run()
	noError(t, err)
	if done != 1 || !slices.EqualFunc(a.launch.args, want, slices.Equal) {
		t.Errorf("%d launches, arguments %v, want %v", done, a.launch.args, want)
	}
	k := must(a.m.Kernel("nothing"))(t)
	none := must(k.Prepare(a.config()))(t)
	for _, list := range [][]*driver.Launch{{l}, {none, l}, {l.Clone()}, {l, l}} {
		b.Empty()
		for _, l := range list {
			b.Add(l.Block())
		}
		done, err = b.Run()
		noError(t, err)
		if n := binary.LittleEndian.Uint32(a.launch.args[3]); done != len(list) || n != 9 {
			t.Errorf("%d launches, n is %d", done, n)
		}
	}
}

// A Batch also copies the configuration whenever a launch is added.
func TestLaunchesHaveTheConfigurationOfTheMoment(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	other := l.Clone()
	b := launch.NewBatch()
	b.Reset(&a.c.Driver().Driver, a.s.Raw())
	for i, l := range []*driver.Launch{l, l, other, l} {
		cfg := l.Config()
		cfg.Grid.X = uint32(i/2 + 1) // 1, 1, 2, 2
		noError(t, l.SetConfig(cfg))
		want := a.sent(t, l)
		grid := a.launch.grid
		b.Empty()
		b.Add(l.Block())
		_, err := b.Run()
		noError(t, err)
		if a.launch.grid != grid || !slices.EqualFunc(a.launch.args, want, slices.Equal) {
			t.Errorf("launch %d: grid %v, want %v", i, a.launch.grid, grid)
		}
	}
}

// changeArg sets an argument and reports whether its value changed.
func changeArg[T any](l *driver.Launch, i int, v T) (bool, error) {
	was := l.Block().Mark(i)
	err := driver.SetArg(l, i, v)
	return l.Block().Changed(was), err
}

// These files contain the same kernels as PTX and as machine code for sm_90. The binaries were
// compiled from the PTX with ptxas and fatbinary from CUDA 11.8.
var (
	//go:embed testdata/launches/launches.ptx
	launchesPTX []byte
	//go:embed testdata/launches/launches.cubin
	launchesCubin []byte
	//go:embed testdata/launches/launches.fatbin
	launchesFatbin []byte
)

// launchWatch wraps a library and counts the launches that reach it. If disguise is set, it
// replaces a binary by the PTX, because the emulator cannot load binaries. Package driver still
// sees a binary, so it queries the emulator for the parameters.
type launchWatch struct {
	loader.Library
	launches *atomic.Int32
	disguise bool
}

func (w launchWatch) Lookup(symbol string) (loader.Proc, error) {
	inner, err := w.Library.Lookup(symbol)
	if err != nil {
		return inner, err
	}
	switch base := strings.TrimSuffix(strings.TrimSuffix(symbol, "_ptsz"), "_v2"); {
	case strings.HasPrefix(base, "cuLaunch"):
		return loader.FuncProc(func(a loader.Args) uintptr {
			w.launches.Add(1)
			return a.Forward(&inner)
		}), nil
	case base == "cuModuleLoadDataEx" && w.disguise:
		text := append(launchesPTX[:len(launchesPTX):len(launchesPTX)], 0)
		return loader.FuncProc(func(a loader.Args) uintptr {
			if *(*byte)(a.Ptr(1)) == '.' {
				return a.Forward(&inner)
			}
			return inner.Call(a.Word(0), uintptr(unsafe.Pointer(&text[0])), 0, 0, 0)
		}), nil
	}
	return inner, nil
}

// launchRig holds the objects needed to make incorrect launches.
type launchRig struct {
	*work
	launches *atomic.Int32
	named    bool // whether the parameters have names
	far      *driver.Buffer[float32]
	closed   *driver.Buffer[float32]
	shared   uint32 // the device's limit of dynamic shared memory per block
}

func newLaunchRig(t *testing.T, lib loader.Library, image []byte) *launchRig {
	n := new(atomic.Int32)
	d := must(driver.New(launchWatch{lib, n, lib.Name() == emulator.New(emulator.Config{}).Name()}))(t)
	gputest.CheckLeaks(t, d)
	w := &work{TB: t, c: gputest.Context(t, d)}
	w.s = closing[*driver.Stream](w)(w.c.NewStream())
	w.m = closing[*driver.Module](w)(w.c.LoadModule(image))
	r := &launchRig{work: w, launches: n, named: image[0] == '.'}
	other := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	r.far = closing[*driver.Buffer[float32]](w)(driver.Alloc[float32](other, 1))
	r.closed = must(driver.Alloc[float32](w.c, 1))(t)
	noError(t, r.closed.Close())
	r.shared = uint32(must(w.c.Device().Attribute(cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))(t))
	return r
}

type box [3]float32

// wrongLaunch is one incorrect way to launch a kernel. The error must contain the kernel's name and
// all of words.
type wrongLaunch struct {
	name   string
	kernel string
	cfg    driver.LaunchConfig
	change func(r *launchRig, args []any) []any // changes valid arguments for the kernel "mixed"
	words  []string
	typed  []string // additional words, if the kernel came from PTX
}

func oneBlock(x, y, z int) driver.LaunchConfig {
	return driver.LaunchConfig{Grid: driver.D1(2), Block: driver.D3(x, y, z)}
}

func with(i int, v any) func(*launchRig, []any) []any {
	return func(_ *launchRig, args []any) []any { args[i] = v; return args }
}

func wrongLaunches() []wrongLaunch {
	cfg, grid, block := oneBlock(1, 1, 1), oneBlock(1, 1, 1), oneBlock
	grid.Grid = driver.D1(0)
	high, shared, cluster, uneven, large := cfg, cfg, cfg, cfg, cfg
	high.Grid = driver.D2(1, 65536)
	shared.SharedMem = 1 << 30
	cluster.Cluster = driver.D1(1)
	uneven.Cluster = driver.D1(3)
	large.Grid, large.Cluster = driver.D1(16), driver.D1(16)
	cooperative := cfg
	cooperative.Grid, cooperative.Cooperative = driver.D1(1<<24), true
	only := func(r *launchRig, _ []any) []any { return []any{driver.CUdeviceptr(0)} }
	return []wrongLaunch{
		{"no arguments", "mixed", cfg, func(*launchRig, []any) []any { return nil }, []string{"takes 7 arguments", "got 0"}, []string{"out .u64, in .u64, n .u32"}},
		{"too few arguments", "mixed", cfg, func(_ *launchRig, a []any) []any { return a[:6] }, []string{"takes 7 arguments", "got 6"}, []string{"box .b8[12]"}},
		{"too many arguments", "mixed", cfg, func(_ *launchRig, a []any) []any { return append(a, uint32(1)) }, []string{"takes 7 arguments", "got 8"}, nil},
		{"nil", "mixed", cfg, with(0, nil), []string{"argument 0", "nil"}, []string{"(out)"}},
		{"a nil buffer", "mixed", cfg, with(1, (*driver.Buffer[float32])(nil)), []string{"argument 1", "nil buffer"}, []string{"(in)"}},
		{"a zero view", "mixed", cfg, with(1, driver.View[float32]{}), []string{"argument 1"}, []string{"(in)"}},
		{"a closed buffer", "mixed", cfg, func(r *launchRig, a []any) []any { a[0] = r.closed; return a }, []string{"argument 0", "buffer of float32"}, []string{"(out)"}},
		{"a view out of range", "mixed", cfg, func(r *launchRig, a []any) []any { a[0] = r.far.View(1, 3); return a }, []string{"argument 0", "view [1:3]"}, []string{"(out)"}},
		{"memory of another driver", "mixed", cfg, func(r *launchRig, a []any) []any { a[1] = r.far; return a }, []string{"argument 1", "another driver"}, []string{"(in)"}},
		{"a Go slice", "mixed", cfg, with(0, []float32{1}), []string{"argument 0", "Go pointer"}, []string{"(out)"}},
		{"a Go pointer", "mixed", cfg, with(0, new(float32)), []string{"argument 0", "Go pointer"}, []string{"(out)"}},
		{"a string", "mixed", cfg, with(6, "twelve bytes"), []string{"argument 6", "string"}, []string{"(box)"}},
		{"a function", "mixed", cfg, with(2, func() {}), []string{"argument 2"}, []string{"(n)"}},
		{"an int, whose size is not fixed", "mixed", cfg, with(2, 1), []string{"argument 2", "no fixed size"}, []string{"(n)"}},
		{"a number for a pointer", "mixed", cfg, with(0, uint32(1)), []string{"argument 0", "8 bytes", "uint32 has 4"}, []string{"(out)", "pass a Buffer"}},
		{"a pointer for a number", "mixed", cfg, func(_ *launchRig, a []any) []any { a[2] = a[0]; return a }, []string{"argument 2", "4 bytes"}, []string{"(n)", ".u32"}},
		{"a wider integer", "mixed", cfg, with(2, uint64(1)), []string{"argument 2", "4 bytes", "uint64 has 8"}, []string{"(n)"}},
		{"a narrower integer", "mixed", cfg, with(5, uint16(1)), []string{"argument 5", "1 bytes", "uint16 has 2"}, []string{"(flag)"}},
		{"a float64 for a float32", "mixed", cfg, with(3, 1.0), []string{"argument 3", "4 bytes", "float64 has 8"}, []string{"(alpha)", "pass a float32"}},
		{"a float32 for a float64", "mixed", cfg, with(4, float32(1)), []string{"argument 4", "8 bytes", "float32 has 4"}, []string{"(beta)", "pass a float64"}},
		{"a struct that is too large", "mixed", cfg, with(6, [4]float32{}), []string{"argument 6", "12 bytes", "has 16"}, []string{"(box)", "exactly that size"}},
		{"a struct that is too small", "mixed", cfg, with(6, struct{ A, B float32 }{}), []string{"argument 6", "12 bytes", "has 8"}, []string{"(box)"}},
		{"a struct with a pointer", "mixed", cfg, with(6, struct{ P *int }{}), []string{"argument 6", "*int"}, []string{"(box)"}},
		{"no grid", "mixed", grid, nil, []string{"grid dimension X is 0"}, nil},
		{"a grid that is too high", "mixed", high, nil, []string{"grid dimension Y is 65536"}, nil},
		{"no block", "mixed", block(0, 1, 1), nil, []string{"block dimension X is 0"}, nil},
		{"a block that is too deep", "mixed", block(1, 1, 65), nil, []string{"block dimension Z is 65"}, nil},
		{"more threads than a block has", "clustered", block(64, 32, 1), only, []string{"2048 threads", "the device allows 1024"}, nil},
		{"more threads than the kernel takes", "mixed", block(129, 1, 1), nil, []string{"129 threads", "the kernel allows 128"}, nil},
		{"more shared memory than there is", "mixed", shared, nil, []string{"1073741824 bytes of dynamic", "shared memory"}, nil},
		{"a cluster other than the kernel's", "clustered", cluster, only, []string{"a cluster of 1×1×1", "compiled for 2×1×1"}, nil},
		{"a cluster that does not divide the grid", "mixed", uneven, nil, []string{"cluster dimension X is 3", "divide the grid's, which is 2"}, nil},
		{"a cluster that is too large", "mixed", large, nil, []string{"16 blocks; more than 8"}, nil},
		{"a cooperative grid that does not fit", "mixed", cooperative, nil, []string{"cooperative grid", "16777216 blocks"}, nil},
	}
}

// onlyInText returns mistakes that are detected only if the kernel came from PTX. For machine code,
// the driver reports neither the parameters' types nor the required block size.
func onlyInText() []wrongLaunch {
	cfg := oneBlock(1, 1, 1)
	return []wrongLaunch{
		{"a float for an integer", "mixed", cfg, with(2, float32(1)), []string{"argument 2 (n)", ".u32", "float32"}, nil},
		{"an integer for a float", "mixed", cfg, with(3, uint32(1)), []string{"argument 3 (alpha)", ".f32", "uint32"}, nil},
		{"a float for a pointer", "mixed", cfg, with(0, 1.0), []string{"argument 0 (out)", "float64", "pass a Buffer"}, nil},
		{"a pointer for a float", "mixed", cfg, func(_ *launchRig, a []any) []any { a[4] = a[0]; return a }, []string{"argument 4 (beta)", ".f64"}, nil},
		{"a block that the kernel is not compiled for", "required", oneBlock(4, 8, 1), func(*launchRig, []any) []any { return []any{driver.CUdeviceptr(0)} },
			[]string{"a block of 4×8×1", "compiled for 8×4×1"}, nil},
	}
}

func (r *launchRig) right() []any {
	return []any{driver.CUdeviceptr(0), driver.CUdeviceptr(0), uint32(1), float32(1), 1.0, true, box{}}
}

// launch makes the mistake in every way a kernel can be launched.
func (m *wrongLaunch) launch(r *launchRig) map[string]error {
	r.Helper()
	k := must(r.m.Kernel(m.kernel))(r.TB)
	args := func() []any {
		if m.change == nil {
			return r.right()
		}
		return m.change(r, r.right())
	}
	errs := map[string]error{"Launch": k.Launch(r.s, m.cfg, args()...)}
	l, err := k.Prepare(m.cfg, args()...)
	if errs["Prepare"] = err; err == nil {
		errs["Do"] = r.s.Do(l)
	}
	return errs
}

func (m *wrongLaunch) check(r *launchRig) {
	r.Helper()
	words := append([]string{"kernel " + m.kernel}, m.words...)
	if r.named {
		words = append(words, m.typed...)
	}
	for how, err := range m.launch(r) {
		if err == nil {
			r.Errorf("%s by %s: no error", m.name, how)
			continue
		}
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) && !errors.Is(err, driver.ErrClosed) {
			r.Errorf("%s by %s: the error has no code: %v", m.name, how, err)
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				r.Errorf("%s by %s: the error does not say %q: %v", m.name, how, w, err)
			}
		}
	}
	if n := r.launches.Load(); n != 0 {
		r.Fatalf("%s: %d launches reached the driver", m.name, n)
	}
}

func testWrongLaunches(t *testing.T, system func() loader.Library) {
	for _, image := range []struct {
		name string
		data []byte
	}{{"PTX", launchesPTX}, {"cubin", launchesCubin}, {"fatbin", launchesFatbin}} {
		t.Run(image.name, func(t *testing.T) {
			r := newLaunchRig(t, system(), image.data)
			for _, m := range wrongLaunches() {
				m.check(r)
			}
			if r.named {
				for _, m := range onlyInText() {
					m.check(r)
				}
			}
			k := must(r.m.Kernel("mixed"))(t)
			noError(t, k.Launch(r.s, oneBlock(128, 1, 1), r.right()...))
			r.wait()
			if n := r.launches.Load(); n != 1 {
				t.Errorf("%d launches were counted for a right one", n)
			}
		})
	}
}

func TestWrongLaunchesDoNotReachTheDriver(t *testing.T) {
	t.Run("emulator", func(t *testing.T) {
		testWrongLaunches(t, func() loader.Library { return emulator.New(emulator.Config{}) })
	})
	t.Run("GPU", func(t *testing.T) {
		gputest.GPU(t) // skips the test if there is no GPU
		testWrongLaunches(t, func() loader.Library { return must(driver.SystemLibrary(""))(t) })
	})
}

const versionPTX = `
.version 7.0
.target sm_52
.address_size 64
.visible .entry fill(.param .u64 p, .param .u64 q, .param .u32 v) { ret; }
.visible .entry other(.param .u64 p, .param .u64 q, .param .u32 v) { ret; }
`

// Two launches have the same access stamp only if they have the same kernel and access the same
// memory in the same way.
func TestVersionsOfAccesses(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := must(c.LoadModule([]byte(versionPTX)))(t)
		defer m.Close()
		fill, other := must(m.Kernel("fill"))(t), must(m.Kernel("other"))(t)
		a, b := must(driver.Alloc[uint32](c, 8))(t), must(driver.Alloc[uint32](c, 8))(t)
		defer a.Close()
		defer b.Close()
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
		launch := func(k *driver.Kernel, args ...any) *driver.Launch {
			return must(k.Prepare(cfg, append(args, uint32(1))...))(t)
		}

		first, second := launch(fill, a, b), launch(fill, a, b)
		noError(t, driver.SetArg(second, 2, uint32(7)))
		if uint64(first.Block().Accesses) != uint64(second.Block().Accesses) {
			t.Error("launches of the same memory have two versions")
		}
		clone := first.Clone()
		all := []*driver.Launch{first, clone, launch(fill, b, a), launch(other, a, b), launch(fill, a, driver.In(b)),
			launch(fill, a.View(0, 4), b), launch(fill, a, driver.CUdeviceptr(0))}
		differ := func(when string) {
			t.Helper()
			seen := map[uint64]int{}
			for i, l := range all {
				if was, there := seen[uint64(l.Block().Accesses)]; there {
					t.Errorf("%s, launches %d and %d have the same version", when, was, i)
				}
				seen[uint64(l.Block().Accesses)] = i
			}
		}
		differ("as they were prepared")
		// The first two launches had the same stamp at first. After the changes, all stamps must
		// differ.
		for range 3 {
			noError(t, driver.SetArg(first, 0, b))
			noError(t, driver.SetArg(second, 1, a))
			noError(t, driver.SetArg(clone, 0, b.View(0, 2)))
			all = append(all[:7], second)
			differ("after other memory")
			noError(t, driver.SetArg(first, 0, a))
			noError(t, driver.SetArg(second, 1, b))
			noError(t, driver.SetArg(clone, 0, a.View(1, 2)))
			differ("after other memory again")
		}
		again := must(driver.Alloc[uint32](c, 8))(t)
		l := launch(fill, again, b)
		noError(t, again.Close())
		if last := launch(fill, a, b); uint64(last.Block().Accesses) == uint64(l.Block().Accesses) {
			t.Error("memory that is closed and memory that is open have one version")
		}
	})
}

// A launch must get a new version whenever the objects that it refers to change, because batches
// hold the old references. Adding or removing an attribute also changes the version.
func TestLaunchesHaveAnotherVersionWhenTheyReferToSomethingElse(t *testing.T) {
	w := newWork(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
	k, b := w.kernel("set"), w.floats(1, 2)
	cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
	l := must(k.Prepare(cfg, b))(t)
	last := l.Block().Version
	changed := func(what string, want bool, err error) {
		t.Helper()
		noError(t, err)
		if v := l.Block().Version; (v != last) != want {
			t.Errorf("%s: version %d after %d", what, v, last)
		}
		last = l.Block().Version
	}
	changed("the same memory", false, driver.SetArg(l, 0, b))
	changed("other memory", true, driver.SetArg(l, 0, w.floats(3)))
	changed("an address", true, driver.SetArg(l, 0, b.Ptr()))
	changed("another address", false, driver.SetArg(l, 0, b.Ptr()+4))
	changed("memory again", true, driver.SetArg(l, 0, b))
	cfg.Cooperative = true
	changed("an attribute more", true, l.SetConfig(cfg))
	changed("the same attributes", false, l.SetConfig(cfg))
	cfg.Cooperative = false
	changed("an attribute less", true, l.SetConfig(cfg))
}
