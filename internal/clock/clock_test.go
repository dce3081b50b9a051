package clock

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// The clock of the emulated GPU always has the rate in its properties. A measurement is too high if the
// thread is interrupted between reading the two counters, but never too low.
func TestMeter(t *testing.T) {
	d, err := driver.New(emulator.New(emulator.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	dev, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := dev.Properties()
	if err != nil {
		t.Fatal(err)
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	want := float64(p.ClockKHz) / 1000
	for tries := 1; ; tries++ {
		got, err := m.MHz()
		if err != nil {
			t.Fatal(err)
		}
		if got < 0.99*want {
			t.Fatalf("%f MHz, want at least %f", got, want)
		}
		if got < 1.01*want {
			break
		}
		if tries == 1000 {
			t.Fatalf("%f MHz, want at most %f", got, want)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
