package tensor_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
)

// keptTensor is the file with the results of an H200. Each line contains a form's name, the
// checksum of its PTX, and a checksum of each block's results, or "refused".
const keptTensor = "testdata/h200.txt.gz"

var writeTensor = flag.String("tensor.write", "", "write the results of the tensor cores' forms on the GPU to this file")

// The tensor core instructions must produce the same bits as an H200, even where the ISA does not
// specify how sums are rounded.
func TestTensorCoresAreThoseOfAnH200(t *testing.T) {
	kept := keptSums(t)
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		onlyOnHopper(t, c)
		for _, name := range otherForms(kept, tensorForms()) {
			t.Errorf("%s: results were kept of a form that is not run", name)
		}
		forms, refused, products, words := 0, 0, 0, 0
		for _, f := range tensorForms() {
			if !f.check(t, c, kept[f.name]) {
				continue
			}
			if kept[f.name][1] == "refused" {
				refused++
				continue
			}
			forms++
			products += f.cases
			words += f.cases * f.words[0]
		}
		t.Logf("%d forms equal in %d products with %d words of results; %d refused", forms, products, words, refused)
	})
}

// onlyOnHopper skips the test unless the device has compute capability 9.0, like the device that
// the results were recorded on.
func onlyOnHopper(t *testing.T, c *driver.Context) {
	t.Helper()
	major, minor, err := c.Device().ComputeCapability()
	if err != nil {
		t.Fatal(err)
	}
	if major != 9 || minor != 0 {
		t.Skipf("the results that were kept are of compute capability 9.0, this is %d.%d", major, minor)
	}
}

// check compares a form's results with the recorded ones and reports whether they are equal.
func (f *tensorForm) check(t *testing.T, c *driver.Context, want []string) bool {
	t.Helper()
	got, err := f.run(c)
	line := strings.Fields(f.line(got, err))[1:]
	switch {
	case err != nil && !refusedByJIT(err):
		t.Errorf("%s: %v", f.name, err)
	case len(want) == 0:
		t.Errorf("%s: no results were kept", f.name)
	case line[0] != want[0]:
		t.Errorf("%s: the results that were kept are of other PTX", f.name)
	case want[1] == "refused" && err == nil:
		t.Errorf("%s: is taken, which an H200's driver refuses", f.name)
	case want[1] != "refused" && err != nil:
		t.Errorf("%s: %v", f.name, err)
	case len(line) != len(want):
		t.Errorf("%s: %d blocks, want %d", f.name, len(line)-1, len(want)-1)
	default:
		return f.same(t, line[1:], want[1:])
	}
	return false
}

// otherForms returns the names in kept that do not belong to any form.
func otherForms(kept map[string][]string, forms []tensorForm) (names []string) {
	for name := range kept {
		if !slices.ContainsFunc(forms, func(f tensorForm) bool { return f.name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// refusedByJIT reports whether err is the driver's code for invalid or unsupported PTX.
func refusedByJIT(err error) bool {
	switch code(err) {
	case cu.CUDA_ERROR_INVALID_PTX, cu.CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
		return true
	}
	return false
}

func TestOnlyTheJITRefusesForms(t *testing.T) {
	for err, want := range map[cu.CUresult]bool{
		cu.CUDA_ERROR_INVALID_PTX: true, cu.CUDA_ERROR_ILLEGAL_ADDRESS: false,
		cu.CUDA_ERROR_OUT_OF_MEMORY: false, cu.CUDA_ERROR_NOT_SUPPORTED: false,
	} {
		if got := refusedByJIT(&cu.Error{Result: err}); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
	if refusedByJIT(errors.New("another")) {
		t.Error("any error is one of the JIT")
	}
}

func TestFormsThatAreNotRunAreNoticed(t *testing.T) {
	kept := map[string][]string{"run": nil, "not run": nil}
	if names := otherForms(kept, []tensorForm{{name: "run"}}); len(names) != 1 || names[0] != "not run" {
		t.Errorf("noticed %q", names)
	}
}

func (f *tensorForm) same(t *testing.T, got, want []string) bool {
	t.Helper()
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: block %d, inputs of kind %d: results differ", f.name, i, i%modes)
			return false
		}
	}
	return true
}

// run executes the form's kernel and returns the results of all blocks.
func (f *tensorForm) run(c *driver.Context) (got []uint32, err error) {
	m, err := c.LoadModule([]byte(f.ptx))
	if err != nil {
		return nil, err
	}
	defer m.Close()
	k, err := m.Kernel("form")
	if err != nil {
		return nil, err
	}
	out, err := driver.Alloc[uint32](c, f.cases*f.words[0])
	if err != nil {
		return nil, err
	}
	defer out.Close()
	args := []any{out}
	for o := 1; o < 4; o++ {
		b, err := driver.AllocFrom(c, f.tensorInputs(o))
		if err != nil {
			return nil, err
		}
		defer b.Close()
		args = append(args, b)
	}
	if err := launchAndWait(c, k, f.cases, 32, args...); err != nil {
		return nil, err
	}
	got = make([]uint32, f.cases*f.words[0])
	return got, out.CopyTo(got)
}

func launchAndWait(c *driver.Context, k *driver.Kernel, blocks, threads int, args ...any) error {
	s, err := c.NewStream()
	if err != nil {
		return err
	}
	defer s.Close()
	cfg := driver.LaunchConfig{Grid: driver.D1(blocks), Block: driver.D1(threads)}
	if err := k.Launch(s, cfg, args...); err != nil {
		return err
	}
	return s.Wait(context.Background())
}

// line formats the form's results as a line of keptTensor.
func (f *tensorForm) line(got []uint32, err error) string {
	head := fmt.Sprintf("%s %08x", f.name, crc32.ChecksumIEEE([]byte(f.ptx)))
	if err != nil {
		return head + " refused"
	}
	for c := range f.cases {
		head += " " + checksum(got[c*f.words[0]:(c+1)*f.words[0]])
	}
	return head
}

func checksum(words []uint32) string {
	b, _ := binary.Append(nil, binary.LittleEndian, words) // cannot fail, because words has a fixed element size
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(b))
}

// TestWriteTensorResults writes the device's results in the format of keptTensor, if -tensor.write
// names a file.
func TestWriteTensorResults(t *testing.T) {
	if *writeTensor == "" {
		t.Skip("no file is named with -tensor.write")
	}
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		onlyOnHopper(t, c)
		file, err := os.Create(*writeTensor)
		if err != nil {
			t.Fatal(err)
		}
		z := gzip.NewWriter(file)
		for _, f := range tensorForms() {
			got, err := f.run(c)
			if err != nil && !refusedByJIT(err) {
				t.Fatalf("%s: %v", f.name, err)
			}
			if err != nil {
				t.Logf("%s: %v", f.name, err)
			}
			if _, err := fmt.Fprintln(z, f.line(got, err)); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// keptSums maps the name of each form to the other fields of its line in keptTensor.
func keptSums(t *testing.T) map[string][]string {
	t.Helper()
	file, err := os.Open(keptTensor)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string][]string{}
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		kept[fields[0]] = fields[1:]
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return kept
}

func code(err error) cu.CUresult {
	var e *cu.Error
	if errors.As(err, &e) && !e.Missing {
		return e.Result
	}
	return 0
}
