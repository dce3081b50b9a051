package faulttest_test

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

//go:embed testdata/*.go
var sources embed.FS

// compiled compiles a file from testdata.
func compiled(t testing.TB, name string, cfg go2ptx.Config) *go2ptx.Output {
	t.Helper()
	data := must(sources.ReadFile("testdata/" + name + ".go"))(t)
	cfg.Package = go2ptx.Package{Path: "example.org/heat/" + name, Files: []go2ptx.File{{Name: name + "/" + name + ".go", Data: data}}}
	return must(go2ptx.Compile(cfg))(t)
}

// marked returns the line of a testdata file that ends with the given comment.
func marked(t testing.TB, name, comment string) int {
	t.Helper()
	return lineOf(t, must(sources.ReadFile("testdata/"+name+".go"))(t), comment)
}

// lineOf returns the line of a Go file that ends with the given comment.
func lineOf(t testing.TB, data []byte, comment string) int {
	t.Helper()
	line := 0
	for i, text := range bytes.Split(data, []byte("\n")) {
		if bytes.HasSuffix(text, []byte(" // "+comment)) {
			if line != 0 {
				t.Fatalf("lines %d and %d end with %q", line, i+1, comment)
			}
			line = i + 1
		}
	}
	if line == 0 {
		t.Fatalf("no line ends with %q", comment)
	}
	return line
}

// sourceIs reports whether a finding's source position equals at, possibly as the position in an
// inlined function.
func sourceIs(source, at string) bool {
	return source == at || strings.HasPrefix(source, at+", inlined at ")
}

func load(t testing.TB, c *driver.Context, out *go2ptx.Output) *driver.Module {
	t.Helper()
	m := must(c.LoadModule(out.PTX))(t)
	t.Cleanup(func() { ok(t, m.Close()) })
	return m
}

func kernel(t testing.TB, m *driver.Module, name string) *driver.Kernel {
	t.Helper()
	return must(m.Kernel(name))(t)
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%+v", err)
	}
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%+v", err)
		}
		return v
	}
}

func stream(t testing.TB, c *driver.Context) *driver.Stream {
	t.Helper()
	s := must(c.NewStream())(t)
	t.Cleanup(func() { ok(t, s.Close()) })
	return s
}

func buffer(t testing.TB, c *driver.Context, n int) *driver.Buffer[int32] {
	t.Helper()
	b := must(driver.Alloc[int32](c, n))(t)
	t.Cleanup(func() { ok(t, b.Close()) })
	ok(t, b.Fill(0))
	return b
}

// slice has the memory layout of a slice in kernel parameters.
type slice struct {
	ptr      driver.CUdeviceptr
	len, cap int64
}

func sliceOf(b *driver.Buffer[int32]) slice {
	return slice{b.Ptr(), int64(b.Len()), int64(b.Len())}
}

// patience limits each wait. If a barrier waits for threads that have ended, the test then fails
// instead of blocking forever.
const patience = 60 * time.Second

func wait(t testing.TB, s *driver.Stream) error {
	t.Helper()
	late := errors.New("the work did not end: does a barrier wait for threads that have ended?")
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, late)
	defer cancel()
	err := s.Wait(ctx)
	if errors.Is(err, late) {
		t.Fatal(err)
	}
	return err
}

// faultsOf returns all faults in an error, in order.
func faultsOf(err error) (faults []*driver.KernelFault) {
	switch e := err.(type) {
	case nil:
		return nil
	case *driver.KernelFault:
		return []*driver.KernelFault{e}
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			faults = append(faults, faultsOf(err)...)
		}
		return faults
	}
	return faultsOf(errors.Unwrap(err))
}
