package kernelfault_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
)

// patience limits each wait. If a barrier waits for threads that have exited, the test then fails
// instead of blocking forever.
const patience = 60 * time.Second

// ptxText returns a module that consists of the kernels in the given parts of testdata.
func ptxText(t testing.TB, parts ...string) []byte {
	t.Helper()
	var text []byte
	for _, part := range append([]string{"head"}, parts...) {
		text = append(text, must(os.ReadFile("testdata/"+part+".txt"))(t)...)
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		if fields := strings.Fields(line); len(fields) > 6 && fields[0] == "@site" {
			message := strings.Join(fields[7:], " ")
			lines[i] = site(fields[1], append(fields[2:7:7], message)...)
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

// site returns the declaration of a site variable.
func site(name string, fields ...string) string {
	text := strings.Join(fields, "\x00")
	data := append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(data), " ", ", "), "[]")
	return fmt.Sprintf(".global .align 8 .b8 %s[%d] = {%s};", name, len(data), numbers)
}

func load(t testing.TB, c *driver.Context, parts ...string) *driver.Module {
	t.Helper()
	m := must(c.LoadModule(ptxText(t, parts...)))(t)
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

func buffer(t testing.TB, c *driver.Context, n int) *driver.Buffer[uint32] {
	t.Helper()
	b := must(driver.Alloc[uint32](c, n))(t)
	t.Cleanup(func() { ok(t, b.Close()) })
	ok(t, b.All().Fill(0))
	return b
}

func values(t testing.TB, b *driver.Buffer[uint32]) []uint32 {
	t.Helper()
	v := make([]uint32, b.Len())
	ok(t, b.All().CopyTo(v))
	return v
}

// wait waits for the stream, with a timeout.
func wait(t testing.TB, s *driver.Stream) error {
	t.Helper()
	late := errors.New("the work did not end: does a barrier wait for threads that have exited?")
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, late)
	defer cancel()
	err := s.Wait(ctx)
	if errors.Is(err, late) {
		t.Fatal(err)
	}
	return err
}

// faultOf returns the fault in err. It fails the test if err is not a fault.
func faultOf(t testing.TB, err error) *driver.KernelFault {
	t.Helper()
	var f *driver.KernelFault
	if !errors.As(err, &f) {
		t.Fatalf("the wait returned %v instead of a kernel fault", err)
	}
	return f
}

// launchIndex launches kernel index with blocks of 32 threads.
func launchIndex(t testing.TB, k *driver.Kernel, s *driver.Stream, blocks int, out *driver.Buffer[uint32], length, shift uint64) {
	t.Helper()
	cfg := driver.LaunchConfig{Grid: driver.D1(blocks), Block: driver.D1(32)}
	ok(t, k.Launch(s, cfg, out, length, shift))
}
