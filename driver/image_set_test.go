package driver_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// markedPTX is a module whose kernel stores a number.
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

func image(t testing.TB, name string, data []byte) *driver.Image {
	t.Helper()
	return must(driver.NewImage(name, data))(t)
}

func cubinFor(flags uint32) []byte {
	b := bareCubin(0)
	binary.LittleEndian.PutUint32(b[0x30:], flags)
	return b
}

func arch(t testing.TB, name string) driver.Arch {
	t.Helper()
	return must(driver.ParseArch(name))(t)
}

func TestArchitecturesAreParsed(t *testing.T) {
	for name, want := range map[string]driver.Arch{
		"sm_90": {Major: 9}, "compute_75": {Major: 7, Minor: 5}, "sm_90a": {Major: 9, Suffix: 'a'}, "103f": {Major: 10, Minor: 3, Suffix: 'f'},
	} {
		if got := arch(t, name); got != want {
			t.Errorf("%s is %+v", name, got)
		}
	}
	for _, name := range []string{"", "sm_", "sm_9", "sm_a", "sm_90b", "sm_-90", "sm_+90", "ninety", "debug"} {
		_, err := driver.ParseArch(name)
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "architecture")
	}
	if s := arch(t, "100f").String(); s != "sm_100f" {
		t.Error(s)
	}
}

// Which code runs where: the CUDA programming guide's "Binary Compatibility" and
// "PTX Compatibility".
func TestBestImageIsChosen(t *testing.T) {
	set := must(driver.NewImageSet(
		image(t, "p52", markedPTX("7.0", "sm_52", 1)),
		image(t, "p90", markedPTX("8.0", "sm_90", 1)),
		image(t, "p90a", markedPTX("8.0", "sm_90a", 1)),
		image(t, "p100f", markedPTX("8.8", "sm_100f", 1)),
		image(t, "c80", cubinFor(80<<8|4)),
		image(t, "c86", cubinFor(86<<8|4)),
		image(t, "c90a", cubinFor(90<<8|4|8)),
		image(t, "fat", fatbinOf(fatbinEntryOf(2, 75, 0x8000, nil), fatbinEntryOf(1, 61, 0, []byte("text")))),
	))(t)
	for device, want := range map[string]string{
		"sm_50":  "",
		"sm_52":  "p52",
		"sm_61":  "fat p52",
		"sm_75":  "fat p52",
		"sm_80":  "c80 fat p52",
		"sm_89":  "c86 c80 fat p52",
		"sm_90":  "c90a p90a p90 fat p52",
		"sm_100": "p100f p90 fat p52",
		"sm_103": "p100f p90 fat p52",
		"sm_120": "p90 fat p52",
	} {
		images, err := set.Choose(arch(t, device))
		var names []string
		for _, i := range images {
			names = append(names, i.Name())
		}
		// sm_80 and sm_89 take the fat binary's PTX, not its sm_75 code.
		if got := strings.Join(names, " "); got != want || (want == "") != (err != nil) {
			t.Errorf("%s takes %q (%v), want %q", device, got, err, want)
		}
	}
}

func TestNoImageSaysWhyNot(t *testing.T) {
	set := must(driver.NewImageSet(
		image(t, "new.ptx", markedPTX("8.8", "sm_120", 1)),
		image(t, "special.ptx", markedPTX("8.0", "sm_90a", 1)),
		image(t, "old.cubin", cubinFor(80<<8|4)),
		image(t, "empty.fatbin", fatbinOf()),
	))(t)
	_, err := set.Choose(arch(t, "sm_100"))
	for _, word := range []string{
		"capability 10.0", "new.ptx (PTX): PTX for sm_120 compiles for devices of compute capability 12.0 or newer", "special.ptx", "9.0 only",
		"old.cubin", "from 8.0 up to 8.9", "empty.fatbin (fat binary): it has no code", "add PTX for sm_100 or an older target",
	} {
		wantError(t, err, driver.CUDA_ERROR_NO_BINARY_FOR_GPU, word)
	}
	if _, err := driver.NewImageSet(); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Error("an empty set:", err)
	}
}

func TestImagesAreReadFromFiles(t *testing.T) {
	fsys := fstest.MapFS{"k/a.ptx": {Data: markedPTX("7.0", "sm_52", 1)}, "k/b.cubin": {Data: bareCubin(0)}, "k/c.txt": {Data: []byte("no code")}}
	set := must(driver.ReadImages(fsys, "k/*.ptx", "k/*.cubin"))(t)
	if i := set.Images(); len(i) != 2 || i[0].Name() != "a.ptx" || i[1].Kind() != driver.ImageCubin {
		t.Errorf("the images are %v", i)
	}
	_, err := driver.ReadImages(fsys, "k/*.fatbin")
	wantError(t, err, fs.ErrNotExist, "k/*.fatbin")
	_, err = driver.ReadImages(fsys, "k/*.txt")
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "c.txt")
}

// launchMark runs a kernel that stores a number and returns that.
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

// PTX of a version that no driver has and a cubin in a form that none knows are
// passed over.
func TestImagesThatTheDriverRefusesArePassedOver(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		set := must(driver.NewImageSet(
			image(t, "future", markedPTX("99.0", "sm_75", 1)),
			image(t, "usable", markedPTX("7.0", "sm_70", 2)),
			image(t, "older", markedPTX("7.0", "sm_60", 3)),
		))(t)
		m := must(set.LoadModule(c))(t)
		if got := launchMark(t, c, must(m.Kernel("mark"))(t)); got != 2 {
			t.Errorf("image %d runs", got)
		}
		noError(t, m.Close())
		l := must(must(driver.NewImageSet(image(t, "usable", markedPTX("7.0", "sm_70", 4))))(t).LoadLibrary(c))(t)
		if got := launchMark(t, c, must(l.Kernel("mark"))(t)); got != 4 {
			t.Errorf("image %d runs", got)
		}
		noError(t, l.Close())
		_, err := must(driver.NewImageSet(image(t, "future", markedPTX("99.0", "sm_75", 1))))(t).LoadModule(c)
		wantError(t, err, driver.CUDA_ERROR_NO_BINARY_FOR_GPU, "future", "99.0")
		wantError(t, err, driver.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "no image")
		broken := append(markedPTX("7.0", "sm_80", 1), "garbage"...)
		_, err = must(driver.NewImageSet(image(t, "broken", broken), image(t, "usable", markedPTX("7.0", "sm_70", 2))))(t).LoadModule(c)
		wantError(t, err, driver.CUDA_ERROR_INVALID_PTX, "PTX line", "garbage")
	})
}

// A fat binary whose PTX is not compressed runs on the emulator, too.
func TestFatBinariesRun(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := must(c.LoadModule(imageFile(t, "variants_plain.fatbin")))(t)
		if got := launchMark(t, c, must(m.Kernel("variant"))(t), uint32(1)); got != 900 {
			t.Errorf("code for %d runs", got)
		}
		noError(t, m.Close())
		m = must(c.LoadModule(imageFile(t, "old.fatbin")))(t) // compressed as before CUDA 13
		k := must(m.Kernel("k"))(t)
		noError(t, k.Load())
		noError(t, m.Close())
	})
}

func TestMachineCodeRuns(t *testing.T) {
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		if must(c.Device().Arch())(t) != (driver.Arch{Major: 9}) {
			t.Skip("the machine code in testdata is for sm_90")
		}
		for _, name := range []string{"variants_sm_90.cubin", "variants_size.fatbin"} {
			set := must(driver.NewImageSet(image(t, "x", markedPTX("7.0", "sm_52", 1)), image(t, name, imageFile(t, name))))(t)
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

// checkShape holds what the driver says about parameters, and that launches are
// held against it.
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
	c := gputest.Watched(t, driver.FnCuModuleLoadDataEx, func(loader.Args) { loads++ })
	set := must(driver.NewImageSet(image(t, "mark", markedPTX("7.0", "sm_52", 7))))(t)
	l := set.Lazy(c)
	if l.Loaded() || loads != 0 {
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
	if !l.Loaded() || loads != 1 {
		t.Errorf("it was loaded %d times", loads)
	}
	noError(t, l.Close())
	noError(t, l.Close())
	_, err := l.Kernel("mark")
	wantError(t, err, driver.ErrClosed)
}

// captured runs record while the stream is captured in the strictest mode, and
// destroys the graph.
func captured(d *driver.Driver, s driver.CUstream, record func() error) error {
	runtime.LockOSThread() // where the capture ends
	defer runtime.UnlockOSThread()
	if err := d.CuStreamBeginCapture(s, driver.CU_STREAM_CAPTURE_MODE_GLOBAL); err != nil {
		return err
	}
	err := record()
	var g driver.CUgraph
	return errors.Join(err, d.CuStreamEndCapture(s, &g), d.CuGraphDestroy(g))
}

func TestLazyModuleIsLoadedDuringACapture(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		l := must(driver.NewImageSet(image(t, "mark", markedPTX("7.0", "sm_52", 7))))(t).Lazy(c)
		s, b := must(c.NewStream())(t), must(driver.Alloc[uint32](c, 1))(t)
		d := c.Driver()
		done := make(chan error)
		noError(t, captured(d, s.Raw(), func() error {
			go func() { // another thread, which a global capture watches, too
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
		l := must(driver.NewImageSet(image(t, "mark", markedPTX("7.0", "sm_52", 7))))(t).Lazy(c, driver.JITOptLevel(9))
		for range 2 {
			_, err := l.Kernel("mark")
			wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "OPTIMIZATION_LEVEL", "0 to 4")
		}
		noError(t, l.Close())
		ok := must(driver.NewImageSet(image(t, "mark", markedPTX("7.0", "sm_52", 7))))(t).Lazy(c)
		_, err := ok.Kernel("other")
		wantError(t, err, driver.CUDA_ERROR_NOT_FOUND, "mark")
		_, err = ok.Global("nothing")
		wantError(t, err, driver.CUDA_ERROR_NOT_FOUND, "nothing")
		noError(t, ok.Close())
		var none *driver.LazyModule
		_, err = none.Kernel("mark")
		wantError(t, err, driver.ErrClosed)
		noError(t, none.Close())
	})
}

// A lazy module costs nothing until a kernel of it is asked for.
func ExampleImageSet_Lazy() {
	c := exampleContext()
	set, err := driver.ReadImages(os.DirFS("testdata/images"), "variants.ptx")
	check(err)
	lazy := set.Lazy(c)
	fmt.Println(lazy.Loaded())
	k, err := lazy.Kernel("variant")
	check(err)
	fmt.Println(k, lazy.Loaded())
	check(lazy.Close(), c.Close())
	// Output:
	// false
	// kernel variant true
}

// Variants for several architectures are embedded in the program; which one
// runs is the device's matter.
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
