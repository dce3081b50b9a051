package driver_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
)

func words(width, height, depth uintptr) cu.CUDA_ARRAY3D_DESCRIPTOR {
	return cu.CUDA_ARRAY3D_DESCRIPTOR{Width: width, Height: height, Depth: depth, Format: cu.CU_AD_FORMAT_UNSIGNED_INT32, NumChannels: 1}
}

func TestArraysAreEndsOfCopies(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, err := c.NewStream()
		noError(t, err)
		defer s.Close()
		a, err := c.NewArray(words(4, 2, 3))
		noError(t, err)
		defer a.Close()
		if a.RowBytes() != 16 || a.Bytes() != 96 || a.Context() != c || a.Raw() == 0 || a.Desc() != words(4, 2, 3) {
			t.Errorf("%v: %d bytes a row, %d in all", a, a.RowBytes(), a.Bytes())
		}
		up, err := driver.AllocHost[uint32](c, 24)
		noError(t, err)
		defer up.Close()
		down, err := driver.AllocHost[uint32](c, 24)
		noError(t, err)
		defer down.Close()
		for i := range up.Slice() {
			up.Slice()[i] = uint32(i)
		}
		in, err := driver.Copy3D(driver.Region{Memory: a}, driver.Region{Memory: up, Pitch: 16, Rows: 2}, 16, 2, 3)
		noError(t, err)
		// The right half of the second row of each layer.
		out, err := driver.Copy3D(driver.Region{Memory: down, Pitch: 8, Rows: 1}, driver.Region{Memory: a, X: 8, Y: 1}, 8, 1, 3)
		noError(t, err)
		noError(t, s.Do(in))
		noError(t, s.Do(out))
		noError(t, s.Wait(context.Background()))
		if want := []uint32{6, 7, 14, 15, 22, 23}; !slices.Equal(down.Slice()[:6], want) {
			t.Errorf("%v, want %v", down.Slice()[:6], want)
		}
		if use := in.Accesses()[0]; use.Mode != driver.Writes || !use.Overlaps(out.Accesses()[1]) {
			t.Errorf("accesses %v and %v", in.Accesses(), out.Accesses())
		}
	})
}

func TestArraysThatCannotBe(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		flat, err := c.NewArray(words(8, 0, 0))
		noError(t, err)
		defer flat.Close()
		b, err := driver.Alloc[uint32](c, 64)
		noError(t, err)
		defer b.Close()
		closed, err := c.NewArray(words(8, 4, 0))
		noError(t, err)
		noError(t, closed.Close())
		noError(t, closed.Close())
		var none *driver.Array
		noError(t, none.Close())
		linear := driver.Region{Memory: b, Pitch: 32}
		for name, test := range map[string]struct {
			err, want error
		}{
			"format":         {second(c.NewArray(cu.CUDA_ARRAY3D_DESCRIPTOR{Width: 8, Format: cu.CU_AD_FORMAT_NV12, NumChannels: 3})), driver.CUDA_ERROR_INVALID_VALUE},
			"channels":       {second(c.NewArray(cu.CUDA_ARRAY3D_DESCRIPTOR{Width: 8, Format: cu.CU_AD_FORMAT_FLOAT, NumChannels: 3})), driver.CUDA_ERROR_INVALID_VALUE},
			"too wide a row": {second(driver.Copy2D(driver.Region{Memory: flat, X: 4}, linear, 32, 1)), driver.CUDA_ERROR_INVALID_VALUE},
			"too many rows":  {second(driver.Copy2D(driver.Region{Memory: flat}, linear, 32, 2)), driver.CUDA_ERROR_INVALID_VALUE},
			"another layer":  {second(driver.Copy3D(driver.Region{Memory: flat, Layer: 1}, linear, 32, 1, 1)), driver.CUDA_ERROR_INVALID_VALUE},
			"closed":         {second(driver.Copy2D(driver.Region{Memory: closed}, linear, 32, 1)), driver.ErrClosed},
			"nil":            {second(driver.Copy2D(driver.Region{Memory: none}, linear, 32, 1)), driver.CUDA_ERROR_INVALID_VALUE},
		} {
			if !errors.Is(test.err, test.want) {
				t.Errorf("%s: %v", name, test.err)
			}
		}
	})
}
