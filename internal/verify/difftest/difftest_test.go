package difftest_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/verify/difftest"
)

var record = flag.String("record", "", "`folder` to write what the GPU answers to, instead of comparing")

func load(t *testing.T, group string) *difftest.File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", group+".gob.gz"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := difftest.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func run(t *testing.T, c *driver.Context, forms []difftest.Form, use func(i int, a difftest.Answer)) {
	t.Helper()
	d, err := difftest.NewDevice(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Run(forms, use), d.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestFormsGiveTheResultsOfAnH200 runs each form on the emulator and on the GPU, and compares the
// results with the record.
func TestFormsGiveTheResultsOfAnH200(t *testing.T) {
	if *record != "" {
		t.Skip("recording")
	}
	for _, g := range difftest.Groups() {
		t.Run(g.Name, func(t *testing.T) {
			gputest.Each(t, func(t *testing.T, c *driver.Context) { compare(t, c, g) })
		})
	}
}

// step returns the distance between the forms that run. With -short it is at least 7, because
// another run covers all forms. It is not 8, because forms come in groups of four and eight.
func step() int {
	if testing.Short() {
		return max(stride, 7)
	}
	return stride
}

func compare(t *testing.T, c *driver.Context, g difftest.Group) {
	step := step()
	f := load(t, g.Name)
	if len(f.Records) != len(g.Forms) {
		t.Fatalf("%d forms, and %d are recorded: record again", len(g.Forms), len(f.Records))
	}
	refused, others := 0, 0
	var forms []difftest.Form
	for i := 0; i < len(g.Forms); i += step {
		forms = append(forms, g.Forms[i])
	}
	run(t, c, forms, func(i int, a difftest.Answer) {
		form, r := &forms[i], &f.Records[i*step]
		if form.Name == r.Name && runtime.GOARCH != "amd64" && form.Hash(a.Operands) != r.Hash {
			others++
			return
		}
		if form.Name != r.Name || form.Hash(a.Operands) != r.Hash {
			t.Errorf("%s: was changed after it was recorded (%s): record again", form.Name, r.Name)
			return
		}
		if r.Refused {
			refused++
		}
		check(t, form, r, a)
	})
	// The recorded operands were generated on amd64. On architectures where the compiler fuses
	// multiplications and additions, about one in a million of rand's normally distributed numbers
	// differs.
	if others > len(forms)/100 {
		t.Errorf("%d of %d forms have other operands here than were recorded", others, len(forms))
	} else if others > 0 {
		t.Logf("%d forms are left out: their random operands are others on %s", others, runtime.GOARCH)
	}
	t.Logf("%d forms on %d operand tuples each, and %d that %s refuses", len(forms)-refused-others, difftest.Tuples, refused, f.Device)
}

func check(t *testing.T, f *difftest.Form, r *difftest.Record, a difftest.Answer) {
	t.Helper()
	switch {
	case r.Refused && a.Refused == nil:
		t.Errorf("%s: is taken, the H200's driver refuses it", f.Name)
		return
	case r.Refused:
		return
	case a.Refused != nil:
		t.Errorf("%s: is refused: %+v", f.Name, a.Refused)
		return
	}
	s := f.Difference(r, a)
	emulated := strings.HasSuffix(t.Name(), "/emulator")
	switch known := difftest.Known(f.Name) != nil && emulated; {
	case known && s == "":
		t.Errorf("%s: is equal, and listed as a difference", f.Name)
	case !known && s != "":
		t.Errorf("%s: %s", f.Name, s)
	}
	if n, s := f.Outside(a); n != 0 {
		t.Errorf("%s: %d results are outside of the bound: %s", f.Name, n, s)
	}
	kept := difftest.Answer{Operands: a.Operands, Results: f.Decode(r.First)}
	if n, s := f.Outside(kept); n != 0 {
		t.Errorf("%s: %d recorded results are outside of the bound: %s", f.Name, n, s)
	}
}

// TestRecord records the GPU's results. It also compares all results of the GPU with the
// emulator's, because the record contains only a part of them.
func TestRecord(t *testing.T) {
	if *record == "" {
		t.Skip("nothing to record: see -record")
	}
	gpu := gputest.Context(t, gputest.GPU(t))
	emu := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	name, err := gpu.Device().Name()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range difftest.Groups() {
		t.Run(g.Name, func(t *testing.T) {
			f := difftest.File{Device: name, Driver: gpu.Device().Driver().Version()}
			got := make([]difftest.Answer, len(g.Forms))
			run(t, emu, g.Forms, func(i int, a difftest.Answer) { got[i] = a })
			run(t, gpu, g.Forms, func(i int, a difftest.Answer) {
				f.Records = append(f.Records, difftest.NewRecord(&g.Forms[i], a))
				explain(t, &g.Forms[i], a, got[i])
			})
			data, err := f.Encode()
			if err == nil {
				err = os.WriteFile(filepath.Join(*record, g.Name+".gob.gz"), data, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func explain(t *testing.T, f *difftest.Form, want, got difftest.Answer) {
	if (want.Refused != nil) != (got.Refused != nil) {
		t.Logf("REFUSED %s: gpu %v, emulator %v", f.Name, want.Refused, got.Refused)
		return
	}
	if f.Bound != nil {
		n, s := f.Outside(want)
		if n != 0 {
			t.Logf("OUTSIDE on gpu %s: %d, %s", f.Name, n, s)
		}
		if n, s = f.Outside(got); n != 0 {
			t.Logf("OUTSIDE on emulator %s: %d, %s", f.Name, n, s)
		}
		return
	}
	found := f.Differences(want, got)
	if len(found) == 0 {
		return
	}
	text := fmt.Sprintf("DIFFERENT %s: %d results", f.Name, len(found))
	for i := 0; i < len(found) && i < 6; i++ {
		text += "\n    " + found[i*len(found)/min(len(found), 6)]
	}
	t.Log(text)
}
