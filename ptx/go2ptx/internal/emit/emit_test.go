package emit_test

import (
	"context"
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// text emits the module twice and returns the PTX. It fails the test if the PTX is invalid or the
// two outputs differ.
func text(t *testing.T, m *ir.Module, o emit.Options) []byte {
	t.Helper()
	if err := m.Verify(); err != nil {
		t.Fatal(err)
	}
	a, err := emit.Emit(m, o).Text()
	if err != nil {
		tree, _ := emit.Emit(m, o).Build()
		t.Fatalf("%+v\n%s", err, tree)
	}
	b, _ := emit.Emit(m, o).Text()
	if string(a) != string(b) {
		t.Fatalf("two runs differ:\n%s\n%s", a, b)
	}
	return a
}

// run launches kernel k on a buffer that contains words and returns the buffer's contents after the
// launch.
func run(t *testing.T, c *driver.Context, src []byte, threads int, words []uint64) []uint64 {
	t.Helper()
	out, err := launch(c, src, threads, words)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return out
}

func launch(c *driver.Context, src []byte, threads int, words []uint64, more ...any) (out []uint64, err error) {
	mod, err := c.LoadModule(src)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, mod.Close()) }()
	k, err := mod.Kernel("k")
	if err != nil {
		return nil, err
	}
	buf, err := driver.AllocFrom(c, words)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, buf.Close()) }()
	s, err := c.NewStream()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(threads)}, append([]any{buf}, more...)...); err != nil {
		return nil, err
	}
	if err := s.Wait(context.Background()); err != nil {
		return nil, err
	}
	out = make([]uint64, len(words))
	return out, buf.CopyTo(out)
}
