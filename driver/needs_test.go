package driver_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx"
)

// header is PTX with one empty kernel.
func header(version, target string) []byte {
	return fmt.Appendf(nil, ".version %s\n.target %s\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n", version, target)
}

// notTaken loads text in every way and expects the same refusal, before and after.
func notTaken(t *testing.T, c *driver.Context, text []byte, code driver.CUresult, words ...string) {
	t.Helper()
	err := c.CanLoad(text)
	wantError(t, err, code, words...)
	var unmet *ptx.UnmetError
	if !errors.As(err, &unmet) {
		t.Errorf("%v is no UnmetError", err)
	}
	_, err = c.LoadModule(text)
	wantError(t, err, code, words...)
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q is more than a line", err)
	}
	_, err = c.Embedded(fmt.Sprintf("kernels of %s", t.Name()), text)
	wantError(t, err, code, words...)
	l, err := c.LoadLibrary(text)
	if err == nil { // put off to the first use
		_, err = l.Kernel("k")
		noError(t, l.Close())
	}
	wantError(t, err, code, words...)
}

func TestNewerPTXIsRefusedWithTheDriverThatItNeeds(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		notTaken(t, c, header("99.0", "sm_70"), driver.CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
			"PTX 99.0 is newer than the driver", "install a newer one", "lower .version to ")
	})
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 12040}, func(t *testing.T, c *driver.Context) {
		notTaken(t, c, header("8.8", "sm_70"), driver.CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
			"PTX 8.8 is newer than the driver, which supports CUDA 12.4 and accepts PTX up to 8.4", "install one of CUDA 12.9 or newer")
		loads(t, c, header("8.4", "sm_70"))
	})
}

func TestTargetsAboveTheDeviceAreRefusedWithWhatToCompileFor(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		major, minor := capability(t, c)
		own := fmt.Sprintf("compute_%d%d", major, minor)
		for _, target := range []string{"sm_121", "sm_121a", "sm_121f"} {
			if arch, _ := ptx.ParseTarget(target); arch.RunsOn(major, minor) {
				loads(t, c, header("8.8", target))
				continue
			}
			notTaken(t, c, header("8.8", target), driver.CUDA_ERROR_INVALID_PTX, "code for "+target, "compile it for "+own)
		}
	})
}

func TestTargetsOfOneArchitectureRunOnThatOnly(t *testing.T) {
	for capability, loading := range map[[2]int][]string{
		{8, 9}:  {"sm_80", "sm_89"},
		{9, 0}:  {"sm_80", "sm_89", "sm_90", "sm_90a"},
		{10, 0}: {"sm_80", "sm_89", "sm_90", "sm_100", "sm_100a", "sm_100f"},
		{10, 3}: {"sm_80", "sm_89", "sm_90", "sm_100", "sm_100f", "sm_103", "sm_103a", "sm_103f"},
		{12, 0}: {"sm_80", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_120a", "sm_120f"},
	} {
		gputest.OnEmulator(t, emulator.Config{ComputeCapability: capability}, func(t *testing.T, c *driver.Context) {
			for _, target := range []string{"sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103", "sm_103a", "sm_103f", "sm_120", "sm_120a", "sm_120f"} {
				text := header("9.0", target)
				if strings.Contains(" "+strings.Join(loading, " ")+" ", " "+target+" ") {
					loads(t, c, text)
				} else {
					notTaken(t, c, text, driver.CUDA_ERROR_INVALID_PTX, target)
				}
			}
		})
	}
}

func loads(t *testing.T, c *driver.Context, text []byte) {
	t.Helper()
	noError(t, c.CanLoad(text))
	noError(t, must(c.LoadModule(text))(t).Close())
}

func capability(t *testing.T, c *driver.Context) (major, minor int) {
	t.Helper()
	major, minor, err := c.Device().ComputeCapability()
	noError(t, err)
	return major, minor
}

func TestTargetOfALaterVersionIsRefusedWithThatVersion(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		notTaken(t, c, header("7.0", "sm_86"), driver.CUDA_ERROR_INVALID_PTX, "PTX 7.0 has no target sm_86", "raise .version to 7.1")
	})
}

func TestWhatTheDeviceTakesIsNotRefused(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		major, minor := capability(t, c)
		own := fmt.Sprintf("sm_%d%d", major, minor)
		newest, _ := ptx.NewestFor(c.Driver().Version())
		for _, text := range [][]byte{
			header("6.0", "sm_52"), header("7.4", "sm_70"), header("8.0", "sm_80"), header(newest.String(), own), header(newest.String(), own+"a"),
		} {
			loads(t, c, text)
		}
	})
}

// A driver that is newer than the table of this package is not second-guessed.
func TestNewerDriversAreNotRefused(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 99000}, func(t *testing.T, c *driver.Context) {
		loads(t, c, header("42.1", "sm_70"))
	})
}

// The driver decides: what it takes is loaded, whatever the table says.
func TestTheDriverDecides(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	text := []byte(strings.Replace(axpyPTX, ".version 7.0", ".version 77.0", 1))
	if strings.Contains(axpyPTX, ".version 77.0") || !strings.Contains(string(text), ".version 77.0") {
		t.Fatal("the text has another version than the test expects")
	}
	wantError(t, c.CanLoad(text), driver.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "77.0")
	noError(t, must(c.LoadModule(text))(t).Close())
}

// A reason of the compiler's own is not hidden by the header's.
func TestSyntaxErrorsKeepTheirExplanation(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		text := append(header("7.0", "sm_70"), ".visible .entry bad()\n{\n\tfrobnicate.u32 1;\n}\n"...)
		noError(t, c.CanLoad(text))
		_, err := c.LoadModule(text)
		wantError(t, err, driver.CUDA_ERROR_INVALID_PTX, "PTX line 10")
	})
}

func TestCanLoadRefusesWhatIsNoImage(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		wantError(t, c.CanLoad([]byte("hello")), driver.CUDA_ERROR_INVALID_VALUE, "neither PTX")
		var none *driver.Context
		wantError(t, none.CanLoad(header("7.0", "sm_70")), driver.CUDA_ERROR_INVALID_VALUE)
	})
}

// What driver 580 said on an H200 is what the emulator says, and what drivers
// of that version say on such devices.
func TestHeadersAreTakenAsByDriver580(t *testing.T) {
	data, err := os.ReadFile("../ptx/testdata/headers-580.txt")
	noError(t, err)
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		if major, minor := capability(t, c); c.Driver().Version() != 13000 || major != 9 || minor != 0 {
			t.Skipf("CUDA %d and capability %d.%d are others than those of the list", c.Driver().Version(), major, minor)
		}
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if f[0] == "#" {
				continue
			}
			text := ".version " + f[0] + "\n"
			if f[1] != "-" {
				text += ".target " + f[1] + "\n"
			}
			if f[2] != "-" {
				text += ".address_size " + f[2] + "\n"
			}
			got := 0
			m, err := c.LoadModule([]byte(text + ".visible .entry k()\n{\n\tret;\n}\n"))
			var e *driver.Error
			if errors.As(err, &e) {
				got = int(e.Result)
			} else {
				noError(t, err)
			}
			noError(t, m.Close())
			if strconv.Itoa(got) != f[3] {
				t.Errorf("%q: %d, want %s: %v", text, got, f[3], err)
			}
		}
	})
}

// What a long text needs, which another goroutine reads, explains its refusal as
// that of a short one.
func TestRefusedLongTextSaysWhatItNeeds(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		const short = ".version 99.0\n.target sm_50\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n"
		hint := func(text string) string {
			_, err := c.LoadModule([]byte(text))
			var e *driver.Error
			if !errors.As(err, &e) || e.Result != driver.CUDA_ERROR_UNSUPPORTED_PTX_VERSION {
				t.Fatalf("error %v", err)
			}
			return e.Hint
		}
		if got, want := hint(strings.Repeat("// a comment of a line\n", 1000)+short), hint(short); got != want {
			t.Errorf("%q, a short text is refused because %q", got, want)
		}
	})
}
