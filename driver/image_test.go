package driver_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

// imageFile is what a compiler made of the sources in testdata/images.
func imageFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "images", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestBrokenImagesDoNotReachTheDriver(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		cubin, fat := imageFile(t, "variants_sm_90.cubin"), imageFile(t, "variants_plain.fatbin")
		for _, data := range [][]byte{cubin, fat} {
			for n := range len(data) {
				if _, err := c.LoadModule(data[:n]); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
					t.Fatalf("%d of %d bytes: %v", n, len(data), err)
				}
			}
		}
	})
}
