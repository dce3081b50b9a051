package demotest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
)

// recorder is a testing.TB that records the reported errors.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Error(args ...any)         { r.said = append(r.said, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, a ...any) { r.said = append(r.said, fmt.Sprintf(f, a...)) }

// twoBuffers is an example that allocates two buffers. Its parameters can make it misbehave.
func twoBuffers(d *demo.Demo, end func(error) error, keep func(*driver.Buffer[byte])) error {
	a, err := driver.Alloc[byte](d.Context, 10)
	if err != nil {
		return err
	}
	d.Close(a)
	b, err := driver.Alloc[byte](d.Context, 10)
	if err != nil {
		return end(err)
	}
	keep(b)
	return end(b.Fill(1))
}

// onTheSecond is an example that allocates memory on a second device.
func onTheSecond(d *demo.Demo, keep func(*driver.Buffer[byte])) error {
	contexts, err := d.Contexts(2)
	if err != nil {
		return err
	}
	b, err := driver.Alloc[byte](contexts[1], 10)
	if err != nil {
		return err
	}
	keep(b)
	return nil
}

// unsaid is a Closer that discards the error from Close.
type unsaid struct{ io.Closer }

func (u unsaid) Close() error {
	_ = u.Closer.Close()
	return nil
}

// leftOpen keeps buffers reachable that bad examples leave open on purpose. Otherwise their leaks
// could be reported in the test of another example.
var leftOpen []*driver.Buffer[byte]

func TestBadExamplesAreFound(t *testing.T) {
	closing := func(d *demo.Demo) func(*driver.Buffer[byte]) {
		return func(b *driver.Buffer[byte]) { d.Close(b) }
	}
	same := func(err error) error { return err }
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	for _, bad := range []struct {
		what, want string
		example    func(d *demo.Demo) error
	}{
		{"nothing is wrong on two devices", "", func(d *demo.Demo) error { return onTheSecond(d, closing(d)) }},
		{"the second device's release fails unsaid", "(cuMemFree_v2) fails with CUDA_ERROR", func(d *demo.Demo) error {
			return onTheSecond(d, func(b *driver.Buffer[byte]) { d.Close(unsaid{b}) })
		}},
		{"nothing is wrong", "", func(d *demo.Demo) error { return twoBuffers(d, same, closing(d)) }},
		{"errors are swallowed", "and the example does not say so", func(d *demo.Demo) error {
			return twoBuffers(d, func(error) error { return nil }, closing(d))
		}},
		{"another error is returned", "and the cause is lost", func(d *demo.Demo) error {
			return twoBuffers(d, func(err error) error {
				if err != nil {
					return errors.New("it went wrong")
				}
				return nil
			}, closing(d))
		}},
		{"memory stays open where the last call failed", "it leaves [memory ", func(d *demo.Demo) error {
			var b *driver.Buffer[byte]
			err := twoBuffers(d, same, func(kept *driver.Buffer[byte]) { b = kept })
			if err == nil {
				d.Close(b)
			} else {
				leftOpen = append(leftOpen, b)
			}
			return err
		}},
		{"a goroutine stays where a call failed", "goroutines, there were", func(d *demo.Demo) error {
			err := twoBuffers(d, same, closing(d))
			if err != nil {
				go func() { <-forever }()
			}
			return err
		}},
	} {
		t.Run(bad.what, func(t *testing.T) {
			said := &recorder{TB: t}
			r := newRig(t, 2, program(bad.example)).on(said)
			r.grace = 50 * time.Millisecond
			calls := r.count()
			r.everyCall(calls)
			r.lostDevice(len(calls))
			r.littleMemory(calls)
			r.sameGoroutines()
			all := strings.Join(said.said, "\n")
			if (bad.want == "") != (all == "") || !strings.Contains(all, bad.want) {
				t.Errorf("found %q, it should say %q", all, bad.want)
			}
		})
	}
}
