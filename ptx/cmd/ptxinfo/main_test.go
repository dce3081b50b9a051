package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/gputest"
)

const text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry add(.param .u64 x) { ret; }\n"

func call(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	code = run(args, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

func TestReport(t *testing.T) {
	code, out, errs := call(t, text, "-")
	if code != 0 || errs != "" || !strings.Contains(out, "-: PTX 8.0 for sm_80") || !strings.Contains(out, "kernel add, line 4") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
}

func TestSeveralFiles(t *testing.T) {
	dir := gputest.TempDir(t)
	good, bad := filepath.Join(dir, "good.ptx"), filepath.Join(dir, "bad.ptx")
	for name, data := range map[string]string{good: text, bad: text + ".global x;\n"} {
		if err := os.WriteFile(name, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := call(t, "", bad, filepath.Join(dir, "none.ptx"), good)
	if code != 1 || !strings.Contains(out, "kernel add") {
		t.Errorf("%d\n%s", code, out)
	}
	for _, want := range []string{"bad.ptx:5:9: expected a type", ".global x;\n", "none.ptx"} {
		if !strings.Contains(errs, want) {
			t.Errorf("%q is not in\n%s", want, errs)
		}
	}
}

func TestAnswerForAMachine(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-q", "-driver", "12.0", "-device", "9.0", "-"}, 0, ""},
		{[]string{"-q", "-driver", "11.8", "-"}, 1, "PTX 8.0 is newer than the driver"},
		{[]string{"-q", "-device", "7.5", "-"}, 1, "this one has 7.5"},
		{[]string{"-driver", "twelve", "-"}, 1, `"twelve" is not a version`},
		{[]string{"-device", "8", "-"}, 1, `"8" is not a version`},
	} {
		code, out, errs := call(t, text, test.args...)
		if code != test.code || !strings.Contains(errs, test.want) || test.args[0] == "-q" && out != "" {
			t.Errorf("%v: %d %q\n%s", test.args, code, out, errs)
		}
	}
}

func TestUsage(t *testing.T) {
	for code, args := range map[int][]string{2: {}, 0: {"-h"}} {
		if got, _, errs := call(t, "", args...); got != code || !strings.Contains(errs, "usage: ptxinfo") {
			t.Errorf("%v: %d %s", args, got, errs)
		}
	}
	if code, _, errs := call(t, "", "-nonsense"); code != 2 || !strings.Contains(errs, "-nonsense") {
		t.Errorf("%d %s", code, errs)
	}
}

// ptxinfo must report code that NVIDIA's compiler would reject, with each error on its
// own line.
func TestWhatIsInvalidIsSaid(t *testing.T) {
	wrong := strings.Replace(text, "{ ret; }", "{ .reg .f32 %f<3>;\n add.s32 %f1, %f1, %f2;\n bar.sync 16;\n ret; }", 1)
	code, _, errs := call(t, wrong, "-")
	if code != 1 || !strings.Contains(errs, "5:2: add.s32: operand 1 is register %f1 of type .f32") || !strings.Contains(errs, "6:2: bar.sync: there is no barrier 16") {
		t.Errorf("%d\n%s", code, errs)
	}
}
