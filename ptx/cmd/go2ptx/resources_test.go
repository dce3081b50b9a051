package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

const histogram = `package heat

import "github.com/purecuda/cuda/ptx/gpu"

//gpu:kernel block=64
func histogram(t gpu.Thread, counts []uint32, x []uint8) {
	var mine [16]uint32
	tile := gpu.Shared[[64]uint32](t)
	for i := t.GlobalX(); i < len(x); i += t.GridStrideX() {
		mine[x[i]%16]++
	}
	tile[t.ThreadX()] = mine[counts[0]%16]
	t.Sync()
	counts[t.ThreadX()] = tile[63-t.ThreadX()]
}
`

// The numbers must be those that the driver reports for the code that it compiled. Each line must
// contain the device.
func TestResources(t *testing.T) {
	dir := module(t, histogram)
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		dev, err := d.Device(0)
		if err != nil {
			t.Fatal(err)
		}
		name, err := dev.Name()
		if err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		c := newCommand(&errs)
		c.open = func() (*driver.Driver, error) { return d, nil }
		if err := c.parse([]string{"-resources", dir}); err != nil {
			t.Fatal(err)
		}
		if err := c.generate(&out); err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(out.String(), "\n")
		t.Log(text)
		want := regexp.MustCompile(`heat\.go:6: kernel histogram on ` + regexp.QuoteMeta(name) +
			`: registers: (\d+), local memory: (\d+) bytes \(variables in the PTX: 64\), shared memory: 256 bytes, largest block: 64$`)
		m := want.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("the output is %s", &out)
		}
		if n, _ := strconv.Atoi(m[1]); n < 1 || n > 255 {
			t.Errorf("%s registers", m[1])
		}
		if n, _ := strconv.Atoi(m[2]); n < 64 {
			t.Errorf("%s bytes of local memory", m[2])
		}
		if _, err := os.Stat(filepath.Join(dir, "heat_gpu.go")); err == nil {
			t.Error("a file was written")
		}
	})
}

func TestResourcesNeedADriver(t *testing.T) {
	c := newCommand(&bytes.Buffer{})
	c.open = func() (*driver.Driver, error) { return nil, errors.New("libcuda.so.1 is not there") }
	if err := c.parse([]string{"-resources", module(t, histogram)}); err != nil {
		t.Fatal(err)
	}
	if err := c.generate(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "-resources needs the driver's compiler: libcuda.so.1 is not there") {
		t.Errorf("error is %v", err)
	}
}
