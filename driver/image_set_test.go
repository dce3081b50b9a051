package driver_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/imagetest"
	"github.com/purecuda/cuda/loader"
)

// markedPTX returns a module whose kernel stores mark.
func markedPTX(version, target string, mark int) []byte {
	return fmt.Appendf(nil, `.version %s
.target %s
.address_size 64
.visible .entry mark(.param .u64 p)
{
	.reg .b64 %%p;
	ld.param.u64 %%p, [p];
	cvta.to.global.u64 %%p, %%p;
	st.global.u32 [%%p], %d;
	ret;
}
`, version, target, mark)
}

func parsed(t testing.TB, name string, data []byte) *image.Image {
	t.Helper()
	return must(image.Parse(name, data))(t)
}

func TestImagesAreReadFromFiles(t *testing.T) {
	fsys := fstest.MapFS{"k/a.ptx": {Data: markedPTX("7.0", "sm_52", 1)}, "k/b.cubin": {Data: imagetest.Cubin(0)}, "k/c.txt": {Data: []byte("no code")}}
	set := must(driver.ReadImages(fsys, "k/*.ptx", "k/*.cubin"))(t)
	if i := set.Images(); len(i) != 2 || i[0].Name() != "a.ptx" || i[1].Kind() != image.Cubin {
		t.Errorf("the images are %v", i)
	}
	_, err := driver.ReadImages(fsys, "k/*.fatbin")
	wantError(t, err, fs.ErrNotExist, "k/*.fatbin")
	_, err = driver.ReadImages(fsys, "k/*.txt")
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "c.txt")
	wantError(t, err, image.ErrInvalid)
}

func TestSetsOfImagesHaveImages(t *testing.T) {
	for _, images := range [][]*image.Image{nil, {nil}, {new(image.Image)}} {
		_, err := driver.NewImageSet(images...)
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "an image set")
	}
}

func TestNoImageForTheDevice(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		_, err := must(driver.NewImageSet(parsed(t, "old.cubin", imagetest.CubinFor(20<<8|4))))(t).LoadModule(c)
		wantError(t, err, driver.CUDA_ERROR_NO_BINARY_FOR_GPU, "old.cubin (cubin): machine code for sm_20", "add PTX")
		wantError(t, err, image.ErrMismatch)
	})
}

// launchMark runs a kernel from markedPTX and returns the number that the kernel stored.
func launchMark(t *testing.T, c *driver.Context, k *driver.Kernel, args ...any) uint32 {
	t.Helper()
	s := must(c.NewStream())(t)
	b := must(driver.Alloc[uint32](c, 1))(t)
	noError(t, k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, append([]any{b}, args...)...))
	noError(t, s.Wait(context.Background()))
	got := make([]uint32, 1)
	noError(t, b.CopyTo(got))
	closeAll(t, s, b)
	return got[0]
}

func TestImagesThatTheDriverRefusesArePassedOver(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		set := must(driver.NewImageSet(
			parsed(t, "future", markedPTX("99.0", "sm_75", 1)),
			parsed(t, "usable", markedPTX("7.0", "sm_70", 2)),
			parsed(t, "older", markedPTX("7.0", "sm_60", 3)),
		))(t)
		m := must(set.LoadModule(c))(t)
		if got := launchMark(t, c, must(m.Kernel("mark"))(t)); got != 2 {
			t.Errorf("image %d runs", got)
		}
		noError(t, m.Close())
		l := must(must(driver.NewImageSet(parsed(t, "usable", markedPTX("7.0", "sm_70", 4))))(t).LoadLibrary(c))(t)
		if got := launchMark(t, c, must(l.Kernel("mark"))(t)); got != 4 {
			t.Errorf("image %d runs", got)
		}
		noError(t, l.Close())
		_, err := must(driver.NewImageSet(parsed(t, "future", markedPTX("99.0", "sm_75", 1))))(t).LoadModule(c)
		wantError(t, err, driver.CUDA_ERROR_NO_BINARY_FOR_GPU, "future", "99.0")
		wantError(t, err, driver.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "no image")
		broken := append(markedPTX("7.0", "sm_80", 1), "garbage"...)
		_, err = must(driver.NewImageSet(parsed(t, "broken", broken), parsed(t, "usable", markedPTX("7.0", "sm_70", 2))))(t).LoadModule(c)
		wantError(t, err, driver.CUDA_ERROR_INVALID_PTX, "PTX line", "garbage")
	})
}

// An image is assumed to print if the code for the device contains the name vprintf, or if that
// code cannot be read or is large.
func TestImagesThatPrint(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{}, func(t *testing.T, c *driver.Context) {
		silent := markedPTX("7.0", "sm_52", 1)
		printing := append(bytes.Clone(silent), ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"...)
		arch := must(c.Device().Arch())(t)
		device := uint32(10*arch.Major + arch.Minor)
		compressed := func(size uint64) []byte {
			e := imagetest.Entry(1, device, 0x8000, []byte("damaged"))
			binary.LittleEndian.PutUint32(e[16:], 7)
			binary.LittleEndian.PutUint64(e[56:], size)
			return imagetest.Fatbin(e)
		}
		for _, x := range []struct {
			name string
			data []byte
			want bool
		}{
			{"PTX", silent, false},
			{"PTX that prints", printing, true},
			{"cubin", imagetest.Cubin(8), false},
			{"cubin that prints", append(imagetest.Cubin(0), "\x00vprintf\x00"...), true},
			{"fat binary", imagetest.Fatbin(imagetest.Entry(1, device, 0, silent)), false},
			{"fat binary that prints", imagetest.Fatbin(imagetest.Entry(1, device, 0, printing)), true},
			{"fat binary that prints on another device", imagetest.Fatbin(imagetest.Entry(1, device, 0, silent), imagetest.Entry(1, 20, 0, printing)), false},
			{"fat binary for another device", imagetest.Fatbin(imagetest.Entry(1, 999, 0, silent)), true},
			{"zstd", imageFile(t, "default.fatbin"), false},
			{"LZ4", imageFile(t, "speed.fatbin"), false},
			{"damaged", compressed(100), true},
			{"large", compressed(5 << 20), true},
		} {
			if got := must(driver.Prints(c.Device(), x.data))(t); got != x.want {
				t.Errorf("%s prints: %t", x.name, got)
			}
		}
	})
}

// Fat binaries also run on the emulator, which loads the PTX that they contain.
func TestFatBinariesRun(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		// The first file is uncompressed. The second file has the default compression.
		for _, name := range []string{"variants_plain.fatbin", "variants_size.fatbin"} {
			m := must(c.LoadModule(imageFile(t, name)))(t)
			if got := launchMark(t, c, must(m.Kernel("variant"))(t), uint32(1)); got != 900 {
				t.Errorf("%s: code for %d runs", name, got)
			}
			noError(t, m.Close())
		}
		for _, name := range []string{"default.fatbin", "speed.fatbin"} {
			m := must(c.LoadModule(imageFile(t, name)))(t)
			x, got := must(driver.Alloc[float32](c, 3))(t), []float32{1, 2, 3}
			noError(t, x.CopyFrom(got))
			k := must(m.Kernel("scale"))(t)
			s := must(c.NewStream())(t)
			noError(t, k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(32)}, x, float32(2), int32(2)))
			noError(t, s.Wait(t.Context()))
			noError(t, x.CopyTo(got))
			if !slices.Equal(got, []float32{2, 4, 3}) {
				t.Errorf("%s: %v", name, got)
			}
			closeAll(t, s, x, m)
		}
		m := must(c.LoadModule(imageFile(t, "old.fatbin")))(t) // in the format used before CUDA 12.8
		k := must(m.Kernel("k"))(t)
		noError(t, k.Load())
		noError(t, m.Close())
	})
}

func TestMachineCodeRuns(t *testing.T) {
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		if must(c.Device().Arch())(t) != (image.Arch{Major: 9}) {
			t.Skip("the machine code in testdata is for sm_90")
		}
		for _, name := range []string{"variants_sm_90.cubin", "variants_size.fatbin"} {
			set := must(driver.NewImageSet(parsed(t, "x", markedPTX("7.0", "sm_52", 1)), parsed(t, name, imageFile(t, name))))(t)
			m := must(set.LoadModule(c))(t)
			if got := launchMark(t, c, must(m.Kernel("variant"))(t), uint32(1)); got != 900 {
				t.Errorf("%s: code for %d runs", name, got)
			}
			checkShape(t, must(m.Kernel("shape"))(t))
			noError(t, m.Close())
			l := must(c.LoadLibrary(imageFile(t, name)))(t)
			checkShape(t, must(l.Kernel("shape"))(t))
			noError(t, l.Close())
		}
	})
}

// checkShape checks the kernel parameters that the driver reports, and that Prepare checks
// arguments against them.
func checkShape(t *testing.T, k *driver.Kernel) {
	t.Helper()
	p, ok := k.Params()
	if !ok || len(p) != 4 || p[1].Size != 16 || p[2].Offset != 24 || p[3].Size != 4 {
		t.Errorf("the parameters are %v, %v", p, ok)
	}
	cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
	_, err := k.Prepare(cfg, uint64(0), [12]byte{}, uint64(0), uint32(0))
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "argument 1", "16 bytes")
}

func TestLazyModuleIsLoadedOnce(t *testing.T) {
	loads := 0
	c := gputest.Watched(t, cu.FnCuModuleLoadDataEx, func(loader.Args) { loads++ })
	set := must(driver.NewImageSet(parsed(t, "mark", markedPTX("7.0", "sm_52", 7))))(t)
	l := set.Lazy(c)
	if l.Raw() != 0 || loads != 0 || l.Context() != c || l.Log() != "" || l.String() != "module that is not loaded yet" {
		t.Fatal("it was loaded before it was used")
	}
	var all sync.WaitGroup
	kernels := make([]*driver.Kernel, 8)
	for i := range kernels {
		all.Go(func() { kernels[i] = must(l.Kernel("mark"))(t) })
	}
	all.Wait()
	for _, k := range kernels {
		if k != kernels[0] {
			t.Error("two kernels of one name")
		}
	}
	if l.Raw() == 0 || loads != 1 || l.Context() != c || l.String() != fmt.Sprintf("module %#x", l.Raw()) {
		t.Errorf("%v was loaded %d times", l, loads)
	}
	noError(t, l.Close())
	noError(t, l.Close())
	_, err := l.Kernel("mark")
	wantError(t, err, driver.ErrClosed)
	_, err = l.Kernels()
	wantError(t, err, driver.ErrClosed)
	unused := set.Lazy(c)
	noError(t, unused.Close())
	_, err = unused.Kernel("mark")
	wantError(t, err, driver.ErrClosed)
	if loads != 1 {
		t.Error("a closed module was loaded")
	}
}

// captured runs record while s is capturing in GLOBAL mode, and then destroys the graph.
func captured(d *driver.Driver, s driver.CUstream, record func() error) error {
	runtime.LockOSThread() // a capture must end on the thread where it began
	defer runtime.UnlockOSThread()
	if err := d.CuStreamBeginCapture(s, cu.CU_STREAM_CAPTURE_MODE_GLOBAL); err != nil {
		return err
	}
	err := record()
	var g driver.CUgraph
	return errors.Join(err, d.CuStreamEndCapture(s, &g), d.CuGraphDestroy(g))
}

func TestLazyModuleIsLoadedDuringACapture(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		l := must(driver.NewImageSet(parsed(t, "mark", markedPTX("7.0", "sm_52", 7))))(t).Lazy(c)
		s, b := must(c.NewStream())(t), must(driver.Alloc[uint32](c, 1))(t)
		d := c.Driver()
		done := make(chan error)
		noError(t, captured(d, s.Raw(), func() error {
			go func() { // a GLOBAL capture also restricts other threads
				_, err := l.Kernel("mark")
				done <- err
			}()
			if err := <-done; err != nil {
				return err
			}
			k, err := l.Kernel("mark")
			if err != nil {
				return err
			}
			return k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, b)
		}))
		noError(t, l.Close())
		closeAll(t, s, b)
	})
}

func TestLazyModuleTriesAgain(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		l := must(driver.NewImageSet(parsed(t, "mark", markedPTX("7.0", "sm_52", 7))))(t).Lazy(c, driver.WithJIT(cu.CU_JIT_OPTIMIZATION_LEVEL, 9))
		for range 2 {
			_, err := l.Kernel("mark")
			wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "OPTIMIZATION_LEVEL", "0 to 4")
		}
		noError(t, l.Close())
		ok := must(driver.NewImageSet(parsed(t, "mark", markedPTX("7.0", "sm_52", 7))))(t).Lazy(c)
		_, err := ok.Kernel("other")
		wantError(t, err, driver.CUDA_ERROR_NOT_FOUND, "mark")
		_, err = ok.Global("nothing")
		wantError(t, err, driver.CUDA_ERROR_NOT_FOUND, "nothing")
		names, err := ok.Kernels()
		if !slices.Equal(names, []string{"mark"}) {
			t.Errorf("the kernels are %v, %v", names, err)
		}
		var none *driver.ImageSet
		_, err = none.Lazy(c).Kernel("mark")
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "driver.NewImageSet")
		noError(t, ok.Close())
	})
}

// A lazy module loads nothing until one of its kernels is looked up.
func ExampleImageSet_Lazy() {
	c := exampleContext()
	set, err := driver.ReadImages(os.DirFS("testdata/images"), "variants.ptx")
	check(err)
	lazy := set.Lazy(c)
	fmt.Println(lazy)
	k, err := lazy.Kernel("variant")
	check(err)
	fmt.Println(k, lazy.Raw() != 0)
	check(lazy.Close(), c.Close())
	// Output:
	// module that is not loaded yet
	// kernel variant true
}

// The program embeds variants for several architectures. The device determines which variant runs.
func ExampleImageSet() {
	c := exampleContext()
	set, err := driver.ReadImages(os.DirFS("testdata/images"), "variants.ptx", "variants_*.fatbin")
	check(err)
	for _, i := range set.Images() {
		fmt.Println(i, i.Parts())
	}
	m, err := set.LoadModule(c)
	check(err)
	fmt.Println(m.Kernels())
	check(m.Close())
	check(c.Close())
	// Output:
	// variants.ptx (PTX) [PTX 8.0 for sm_90]
	// variants_plain.fatbin (fat binary) [cubin for sm_90 PTX 9.0 for sm_90]
	// variants_size.fatbin (fat binary) [cubin for sm_90 PTX 9.0 for sm_90]
	// [shape variant] <nil>
}

const embeddedPTX = `
.version 7.0
.target sm_52
.address_size 64
.visible .entry store(.param .u64 p, .param .u64 v)
{
	.reg .b64 %p, %v;
	ld.param.u64 %p, [p];
	ld.param.u64 %v, [v];
	cvta.to.global.u64 %p, %p;
	st.global.u64 [%p], %v;
	ret;
}
`

// The context must unload the embedded module: gputest fails the test if anything is left open.
func TestEmbeddedModuleIsLoadedOnceForAContext(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		text := []byte(embeddedPTX)
		m, err := c.Embedded("test code", text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.Embedded("test code", text)
		if err != nil || again != m {
			t.Errorf("the second time it is %v, %v", again, err)
		}
		// Two packages may embed files with the same name.
		other, err := c.Embedded("test code", []byte(embeddedPTX))
		if err != nil || other == m {
			t.Errorf("another text of that name is %v, %v", other, err)
		}
		if _, err := c.Embedded("broken", []byte("nothing")); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("text that is not PTX: %v", err)
		}
		if _, err := c.Embedded("empty", nil); err == nil {
			t.Error("no code was loaded")
		}
	})
}

// While a goroutine waits for the driver to compile a module, others must be able to use those that are loaded.
func TestEmbeddedModulesAreFoundDuringALoad(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	c := gputest.Context(t, gputest.Driver(t, lib))
	text := []byte(embeddedPTX)
	m, err := c.Embedded("test code", text)
	if err != nil {
		t.Fatal(err)
	}
	loads := 0
	lib.Before(func(symbol string) {
		if !strings.HasPrefix(symbol, "cuModuleLoadData") {
			return
		}
		loads++
		found := make(chan *driver.Module)
		go func() {
			m, err := c.Embedded("test code", text)
			if err != nil {
				t.Error(err)
			}
			found <- m
		}()
		if got := <-found; got != m {
			t.Errorf("got %v, want %v", got, m)
		}
	})
	if _, err := c.Embedded("other code", []byte(embeddedPTX)); err != nil {
		t.Fatal(err)
	}
	lib.Before(nil)
	if loads != 1 {
		t.Errorf("%d modules were loaded, want 1", loads)
	}
}

// Of several variants, the context must load the one for the newest target that its device has. A
// variant that the device cannot run does not matter.
func TestEmbeddedVariants(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		device, err := c.Device().Arch()
		if err != nil {
			t.Fatal(err)
		}
		variant := func(target string) []byte {
			text := fmt.Sprintf(".version 7.0\n.target %s\n.address_size 64\n.visible .entry for_%s() { ret; }\n", target, target)
			return []byte(strings.Replace(text, "7.0", map[bool]string{true: "8.7", false: "7.0"}[target == "sm_120"], 1))
		}
		old, same, newer := variant("sm_52"), []byte(strings.Replace(string(variant(device.String())), "7.0", "7.8", 1)), variant("sm_120")
		if device.Major >= 12 {
			t.Fatal("the test needs a target newer than this device")
		}
		for _, list := range [][][]byte{{old, same, newer}, {newer, same, old}} {
			m, err := c.EmbeddedVariant("variants", list)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Kernel("for_" + device.String()); err != nil {
				t.Errorf("the wrong variant: %v", err)
			}
			again, err := c.EmbeddedVariant("variants", list)
			if err != nil || again != m {
				t.Errorf("the second time it is %v, %v", again, err)
			}
		}
		if _, err := c.EmbeddedVariant("too new", [][]byte{newer}); !errors.Is(err, driver.CUDA_ERROR_NO_BINARY_FOR_GPU) {
			t.Errorf("only a newer variant: %v", err)
		}
		if _, err := c.EmbeddedVariant("variants", nil); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("no variant: %v", err)
		}
		linked, err := c.EmbeddedVariant("linked variants", [][]byte{[]byte(linkUser), newer}, []byte(linkFunc), []byte(linkVar))
		if err != nil {
			t.Fatal(err)
		}
		if names, err := linked.Kernels(); err != nil || len(names) == 0 {
			t.Errorf("the linked variant has the kernels %q, %v", names, err)
		}
	})
}

func TestEmbeddedModuleDoesNotDisturbACapture(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, err := c.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		runtime.LockOSThread() // a capture must end on the thread where it began
		defer runtime.UnlockOSThread()
		d := c.Driver()
		if err := d.CuStreamBeginCapture(s.Raw(), cu.CU_STREAM_CAPTURE_MODE_GLOBAL); err != nil {
			t.Fatal(err)
		}
		m, err := c.Embedded("test code", []byte(embeddedPTX))
		if err == nil {
			_, err = m.Kernel("store")
		}
		if err != nil {
			t.Error(err)
		}
		if _, err := c.Embedded("linked code", []byte(linkUser), []byte(linkFunc), []byte(linkVar)); err != nil {
			t.Error(err)
		}
		var g driver.CUgraph
		if err := d.CuStreamEndCapture(s.Raw(), &g); err != nil {
			t.Error(err)
		} else if err := d.CuGraphDestroy(g); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestEmbeddedModuleEndsWithItsContext(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		dev, err := d.Device(0)
		if err != nil {
			t.Fatal(err)
		}
		c, err := dev.PrimaryContext()
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.Embedded("test code", []byte(embeddedPTX))
		if err != nil {
			t.Fatal(err)
		}
		k, err := m.Kernel("store")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := k.Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, driver.CUdeviceptr(0), uint64(0)); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("its kernel afterwards: %v", err)
		}
		if _, err := c.Embedded("test code", []byte(embeddedPTX)); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("loading it afterwards: %v", err)
		}
	})
}

type ticket struct {
	name string
	n    uint64
}

func (t ticket) ArgWord() uint64 { return t.n }

func TestArgumentsThatStandForAWord(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m, err := c.Embedded("test code", []byte(embeddedPTX))
		if err != nil {
			t.Fatal(err)
		}
		k, err := m.Kernel("store")
		if err != nil {
			t.Fatal(err)
		}
		b, err := driver.Alloc[uint64](c, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		got := make([]uint64, 1)
		store := func(what string, l *driver.Launch, want uint64) {
			t.Helper()
			if err := c.LegacyStream().Do(l); err != nil {
				t.Fatal(err)
			}
			if err := b.CopyTo(got); err != nil || got[0] != want {
				t.Errorf("%s: stored %#x, %v", what, got[0], err)
			}
		}
		l, err := k.Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, b, ticket{"first", 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		store("prepared", l, 1<<40)
		if err := driver.SetArg(l, 1, ticket{"second", 7}); err != nil {
			t.Fatal(err)
		}
		store("set", l, 7)
		if err := driver.SetArg(l, 1, uint64(8)); err != nil {
			t.Fatal(err)
		}
		store("set to a number", l, 8)
	})
}
