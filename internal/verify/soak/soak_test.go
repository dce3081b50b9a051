package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
)

func TestShortSoakOnTheEmulator(t *testing.T) {
	var out bytes.Buffer
	o := options{device: "emulator", task: "launches", goroutines: 40, streams: 8, duration: time.Second}
	if err := run(context.Background(), o, &out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), " 0 results verified") {
		t.Errorf("nothing was done:\n%s", out.String())
	}
}

func TestOpenObjectIsALeak(t *testing.T) {
	leaks := watchLeaks()
	d, err := open("emulator")
	if err != nil {
		t.Fatal(err)
	}
	device, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := device.PrimaryContext()
	if err != nil {
		t.Fatal(err)
	}
	b, err := driver.Alloc[byte](c, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := leaks.finish(io.Discard); err == nil {
		t.Error("an open buffer was not reported")
	}
	for _, close := range []func() error{b.Close, c.Close, d.Close} {
		if err := close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWrongWordIsReported(t *testing.T) {
	w := &worker{soak: &soak{}}
	if err := w.verify([]uint32{1, 2, 3}, []uint32{1, 2, 3}); err != nil {
		t.Error(err)
	}
	if err := w.verify([]uint32{1, 2, 4}, []uint32{1, 2, 3}); err == nil {
		t.Error("a wrong word was not reported")
	}
}

func TestShortSoakOfGraphsOnTheEmulator(t *testing.T) {
	var out bytes.Buffer
	o := options{device: "emulator", task: "graphs", goroutines: 16, duration: 3 * time.Second}
	o.streams = o.goroutines
	if err := run(context.Background(), o, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if strings.Contains(out.String(), "\n0 captures") || !strings.Contains(out.String(), " captures, ") {
		t.Errorf("nothing was done:\n%s", out.String())
	}
	t.Log(out.String())
}

func TestGrowthIsReported(t *testing.T) {
	first := sample{device: 1 << 30, heap: 10 << 20, host: 100 << 20, threads: 20, objects: 100}
	if err := grown(first, first); err != nil {
		t.Error(err)
	}
	for what, last := range map[string]sample{
		"device memory": {device: 1<<30 + 17<<20},
		"Go heap":       {heap: 30 << 20},
		"resident":      {host: 200 << 20},
		"threads":       {threads: 1000},
		"open handles":  {objects: 300},
	} {
		if err := grown(first, last); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s grew: got %v", what, err)
		}
	}
}
