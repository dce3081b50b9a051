package anywhere

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// logger returns a logger that writes records to b, without the time.
func logger(b *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// Without a GPU, Open must open an emulator and log the reason.
func TestWithoutAGPUTheEmulatorIsOpenedAndNamed(t *testing.T) {
	var b bytes.Buffer
	noGPU := func() (*driver.Driver, error) { return nil, errors.New("the cable is out") }
	d, err := open(noGPU, logger(&b), emulator.Config{Name: "a machine in Go"})
	if err != nil {
		t.Fatal(err)
	}
	device, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	if name, err := device.Name(); err != nil || name != "a machine in Go" {
		t.Errorf("device %q, %v", name, err)
	}
	const want = "level=WARN msg=\"no GPU can be used, running on the emulator\" reason=\"the cable is out\"\n"
	if b.String() != want {
		t.Errorf("the log has %q", b.String())
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestWithAGPUNothingIsEmulated(t *testing.T) {
	var b bytes.Buffer
	// This emulator stands in for the system's driver.
	want, err := driver.New(emulator.New(emulator.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := open(func() (*driver.Driver, error) { return want, nil }, logger(&b), emulator.Config{})
	if got != want || err != nil || b.Len() != 0 {
		t.Errorf("%v, %v, log %q", got, err, b.String())
	}
	if err := want.Close(); err != nil {
		t.Error(err)
	}
}

func TestWithoutEitherBothReasonsAreTold(t *testing.T) {
	none := errors.New("the cable is out")
	_, err := open(func() (*driver.Driver, error) { return nil, none }, logger(new(bytes.Buffer)), emulator.Config{DriverVersion: 1})
	if !errors.Is(err, none) || !strings.Contains(err.Error(), "no emulator") {
		t.Errorf("error %v", err)
	}
}
