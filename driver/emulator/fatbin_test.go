package emulator_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// A compressed entry that cannot be unpacked is rejected, and the log says why.
func TestDamagedEntriesOfFatBinaries(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	for _, file := range []string{"default.fatbin", "speed.fatbin"} {
		good, err := os.ReadFile("../testdata/images/" + file)
		if err != nil {
			t.Fatal(err)
		}
		entry := len(good)
		for at := 16; at < len(good); { // the last one is the PTX
			entry = at
			at += int(binary.LittleEndian.Uint32(good[at+4:])) + int(binary.LittleEndian.Uint64(good[at+8:]))
		}
		front := int(binary.LittleEndian.Uint32(good[entry+4:]))
		change := func(at int, b ...byte) []byte {
			image := bytes.Clone(good)
			copy(image[entry+at:], b)
			return image
		}
		size := binary.LittleEndian.Uint32(good[entry+56:])
		for name, test := range map[string]struct {
			image []byte
			word  string
		}{
			"more than stated":         {change(56, byte(size-1), byte((size-1)>>8)), "limit|damaged"},
			"less than stated":         {change(56, byte(size+1), byte((size+1)>>8)), "instead of|damaged"},
			"of a terabyte":            {change(56, 0, 0, 0, 0, 0, 1), "1099511627776 bytes"},
			"cut off":                  {change(16, 100, 0), "damaged"},
			"changed":                  {change(front, 0xff, 0xff, 0xff, 0xff), "damaged"},
			"packed in an unknown way": {change(40, 0x11, 0x10), "flags 0x1000"},
			"for another device alone": {change(28, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0xa0, 0x10), "no PTX for compute capability 9.0"},
			"for a newer device":       {change(28, 100), "no PTX for compute capability 9.0 or below"},
		} {
			_, err := c.LoadModule(test.image)
			text, found := fmt.Sprintf("%+v", err), false
			for word := range strings.SplitSeq(test.word, "|") {
				found = found || strings.Contains(text, word)
			}
			if !errors.Is(err, cu.CUDA_ERROR_NO_BINARY_FOR_GPU) || !found {
				t.Errorf("%s, %s: %v", file, name, text)
			}
		}
	}
}
