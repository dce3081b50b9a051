package guides

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestErrorsAreActedOn(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		_, tooMuch := driver.Alloc[byte](v.ctx, 1<<50)
		_, unknown := v.module.Kernel("saxqy")
		ok(t, healthy(v.ctx, tooMuch))
		for want, err := range map[advice]error{
			goOn: nil, tryLess: fmt.Errorf("wrapped: %w", tooMuch), giveUp: unknown,
			endTheProcess: fmt.Errorf("wrapped: %w", driver.CUDA_ERROR_ILLEGAL_ADDRESS),
		} {
			if got := act(err); got != want {
				t.Errorf("%v: %v, not %v", err, got, want)
			}
		}
	})
}

func TestMissingFunctionsUseAnotherWay(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 11040}, func(t *testing.T, c *driver.Context) {
		_, err := c.LoadLibrary(saxpyPTX)
		if act(err) != useAnotherWay || !strings.Contains(describe(err), "CUDA 12.0 introduced") {
			t.Errorf("%v: %s", err, describe(err))
		}
	})
}

func TestErrorsAreDescribed(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		_, refused := v.saxpy.Prepare(v.config(), v.x)
		_, tooMuch := driver.Alloc[byte](v.ctx, 1<<50)
		_, broken := load(v.ctx, "saxpy.ptx", []byte(strings.Replace(string(saxpyPTX), "fma.rn", "fnord.rn", 1)))
		for want, err := range map[string]error{"before the driver": refused, "returned CUDA_ERROR_OUT_OF_MEMORY (2)": tooMuch,
			"log of the compiler": broken} {
			if got := describe(err); !strings.Contains(got, want) {
				t.Errorf("%v is described as %q", err, got)
			}
		}
		if one, whole := fmt.Sprintf("%v", broken), fmt.Sprintf("%+v", broken); strings.Contains(one, "\n") ||
			!strings.HasPrefix(one, "saxpy.ptx: ") || !strings.Contains(whole, "\n") {
			t.Errorf("%%v: %s\n%%+v: %s", one, whole)
		}
		m := must(load(v.ctx, "saxpy.ptx", saxpyPTX))(t)
		ok(t, m.Close())
	})
}

func TestExecIsRefreshed(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		make := func(n int) *graph.Graph {
			g := must(recorded(v.stream, must(v.add(0))(t), n))(t)
			t.Cleanup(func() { ok(t, g.Close()) })
			return g
		}
		var out strings.Builder
		exec := must(make(2).Instantiate())(t)
		for _, n := range []int{2, 3} {
			exec = must(refresh(&out, exec, make(n)))(t)
		}
		ok(t, exec.Launch(v.stream))
		v.holds(t, 0+1+2)
		if out.String() != "instantiated again: not updated: the nodes or their dependencies differ\n" {
			t.Error(out.String())
		}
		ok(t, exec.Close())
	})
}

// openOrSay must return a driver, or an error that says that the program needs a GPU.
func TestDriverOrReason(t *testing.T) {
	d, err := openOrSay()
	if err != nil {
		if !strings.HasPrefix(err.Error(), "this program needs a GPU: ") {
			t.Error(err)
		}
		return
	}
	if d.Version() < driver.MinVersion {
		t.Errorf("version %d", d.Version())
	}
}

// said collects the messages of errors.
type said struct {
	*testing.T
	strings.Builder
}

func (s *said) about(call string, err error) {
	s.Helper()
	if err == nil {
		s.Fatalf("%s: no error", call)
	}
	fmt.Fprintf(s, "%s\n    %v\n", call, err)
}

// as compares the collected messages with a file whose contents the guide shows. With -update, it
// writes the file instead.
func (s *said) as(file, want string) {
	s.Helper()
	got := s.String()
	if *update {
		ok(s.T, os.WriteFile(filepath.Join("testdata", file), []byte(got), 0o644))
	} else if got != want {
		s.Errorf("testdata/%s says:\n%s\nbut it is:\n%s", file, want, got)
	}
}

var update = flag.Bool("update", false, "write what the guides show of errors")

var (
	//go:embed testdata/errors.txt
	errorsText string
	//go:embed testdata/log.txt
	logText string
)

func TestTheGuidesErrorsAreThese(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{}, func(t *testing.T, c *driver.Context) {
		v, s := newVectors(t, c), &said{T: t}
		many := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2048)}
		s.about("saxpy.Launch(stream, cfg, x, y, 2.0, n)", v.saxpy.Launch(v.stream, v.config(), v.x, v.y, 2.0, uint32(elements)))
		s.about("saxpy.Launch(stream, cfg, x, y, a)", v.saxpy.Launch(v.stream, v.config(), v.x, v.y, float32(2)))
		s.about("saxpy.Launch(stream, LaunchConfig{Grid: D1(1), Block: D1(2048)}, ...)",
			v.saxpy.Launch(v.stream, many, v.x, v.y, float32(2), uint32(elements)))
		_, err := v.module.Kernel("saxqy")
		s.about(`module.Kernel("saxqy")`, err)
		_, err = driver.Alloc[float32](c, 1<<40)
		s.about("driver.Alloc[float32](ctx, 1<<40)", err)
		_, err = graph.Capture(v.stream, graph.ModeThreadLocal, func(*graph.Scope) error {
			_, _ = driver.Alloc[float32](c, elements) // code that does not have the Scope can make this mistake
			return nil
		})
		s.about("graph.Capture(...) of a function that allocates and drops the error", err)
		closed := must(driver.Alloc[float32](c, elements))(t)
		ok(t, closed.Close())
		s.about("buffer.CopyTo(dst), after buffer.Close()", closed.CopyTo(nil))
		s.as("errors.txt", errorsText)
	})
}

func TestTheGuidesLogIsThis(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{}, func(t *testing.T, c *driver.Context) {
		_, err := load(c, "saxpy.ptx", []byte(strings.Replace(string(saxpyPTX), "fma.rn", "fnord.rn", 1)))
		s := &said{T: t}
		fmt.Fprintf(s, "%%v:\n%v\n\n%%+v:\n%+v\n", err, err)
		s.as("log.txt", logText)
	})
}

// A lost context must return the same error from every later call. The test uses only the
// emulator, because on a GPU all later tests would fail.
func TestLostContextSaysSo(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{}, func(t *testing.T, c *driver.Context) {
		m, s := must(c.LoadModule(saxpyPTX))(t), must(c.NewStream())(t)
		x := must(driver.Alloc[float32](c, elements))(t)
		saxpy := must(m.Kernel("saxpy"))(t)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(threads)}
		ok(t, saxpy.Launch(s, cfg, x, driver.CUdeviceptr(64), float32(2), uint32(elements)))
		wait := s.Wait(context.Background())
		_, event := c.NewEvent()
		for _, err := range []error{wait, event, saxpy.Launch(s, cfg, x, x, float32(2), uint32(elements))} {
			if act(err) != endTheProcess || !strings.Contains(err.Error(), "the context is lost") {
				t.Errorf("the context is lost and the answer is: %v", err)
			}
		}
		if healthy(c, nil) == nil || !errors.Is(healthy(c, wait), driver.ErrContextLost) {
			t.Error("the context is lost and the service is healthy")
		}
		for _, object := range []io.Closer{x, s, m} { // each object is freed, or its Close returns the cause
			if err := object.Close(); err != nil && !errors.Is(err, driver.ErrContextLost) {
				t.Error(err)
			}
		}
	})
}
