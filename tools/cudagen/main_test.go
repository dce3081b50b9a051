package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The headers in testdata/include were written for this test. They declare a small driver
// API.
const include = "testdata/include"

func loadMini(t *testing.T) *api {
	t.Helper()
	a, err := load(include)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func generateMini(t *testing.T) files {
	t.Helper()
	fs, err := generate(loadMini(t))
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

func TestABIsAreDatedAndNamed(t *testing.T) {
	type entry struct {
		name, base, symbol, group string
		since                     int
		older                     bool
	}
	want := []entry{
		{"cuProfilerStart", "cuProfilerStart", "cuProfilerStart", "CUDA_PROFILER", 4000, false},
		{"cuThingAdd_v11000", "cuThingAdd", "cuThingAdd", "CUDA_THING", 11000, true},
		{"cuThingAdd", "cuThingAdd", "cuThingAdd_v2", "CUDA_THING", 12030, false},
		{"cuThingCall", "cuThingCall", "cuThingCall", "CUDA_THING", 5000, false},
		{"cuThingGetPlace", "cuThingGetPlace", "cuThingGetPlace", "CUDA_THING", 2000, false},
		{"cuThingGetPlace_v2", "cuThingGetPlace", "cuThingGetPlace_v2", "CUDA_THING", 13000, false},
		{"cuThingMakeWithFlags", "cuThingMakeWithFlags", "cuThingMakeWithFlags", "CUDA_THING", 11040, false},
		{"cuThingMove", "cuThingMove", "cuThingMove", "CUDA_THING", 12020, false},
		{"cuThingOpen", "cuThingOpen", "cuThingOpen", "CUDA_THING", 4010, false},
		{"cuThingScale", "cuThingScale", "cuThingScale", "CUDA_THING", 5000, false},
	}
	var got []entry
	for _, f := range loadMini(t).functions {
		got = append(got, entry{f.name, f.base, f.symbol, f.group, f.since, f.older})
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestGeneratedCode(t *testing.T) {
	fs := generateMini(t)
	for name, wants := range map[string][]string{
		"zz_thing.go": {
			"func (d *Driver) CuThingAdd_v11000(out *CUthing, params *CUparams) error {",
			"//	CUresult cuThingAdd_v11000(CUthing *out, const CUparams *params)",
			"// https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__THING.html",
			"func (d *Driver) CuThingMakeWithFlags(fn *CUthing, flags uint64) error {",
			"where CUplace\n\t\t_     [6]uintptr",
			"_      [4]uintptr\n\t\t\thandle CUbig\n",
			"d = d.orNone()\n\tif !passesFloats(&d.fn.cuThingScale) {\n\t\treturn d.impossible(FnCuThingScale)\n\t}\n",
			"&d.fn.cuThingScale, d.scope, 2+loader.FloatArg<<1\n",
			"fn CUcallback, userData unsafe.Pointer",
		},
		"zz_types.go":     {"type CUaddress uint64", "type CUaddress_v2 = CUaddress", "type CUthing uintptr", "type CUparams = CUparams_v1"},
		"zz_enums.go":     {"type CUcolor int32", "type CUthing_flags uint32", "CU_COLOR_ODD", "flagsString(\"CUthing_flags\""},
		"zz_structs.go":   {"type CUparams_v1_U struct{ words [4]uint64 }", "func (s *CUparams_v1) Kernel() *CUparams_v1_U_Kernel", "sees no pointers in it", "_reserved [8]byte"},
		"zz_constants.go": {"CU_MAGIC               = 0x10", "CU_THING_NONE  CUthing = 0x1", "CU_SECOND_NAME         = CU_COLOR_RED"},
		"zz_functions.go": {"FnCuProfilerStart      Function = iota // cuProfilerStart, CUDA 4.0", "{\"cuThingAdd_v11000\\x00\", \"cuThingAdd\\x00\", \"cuThingAdd\\x00\", 11000}"},
	} {
		for _, want := range wants {
			if !strings.Contains(string(fs[name]), want) {
				t.Errorf("%s has no %q:\n%s", name, want, fs[name])
			}
		}
	}
	if s := string(fs["zz_enums.go"]); strings.Contains(s, "case CU_COLOR_AZURE") {
		t.Error("a second name for a value has a case of its own")
	}
	if s := string(fs["zz_constants.go"]); strings.Contains(s, "CU_END") {
		t.Error("a pointer became a constant")
	}
	want := "cuProfilerStart\ncuThingAdd\ncuThingCall\ncuThingGetPlace\ncuThingMakeWithFlags\ncuThingMove\ncuThingOpen\ncuThingScale\n"
	if got := string(fs["testdata/functions-13.0.txt"]); got != want {
		t.Errorf("list of names:\n%s", got)
	}
}

func TestTheLayoutProgramAsksForEveryField(t *testing.T) {
	program := string(layoutProgram(loadMini(t)))
	for _, want := range []string{
		"TYPE(CUparams_v1)", "FIELD(CUparams_v1, kernel.args)", "FIELD(CUparams_v1, value.two)", "FIELD(CUbig, reserved)",
		"TYPE(CUcolor)", "VALUE(CU_COLOR_ODD)", "constant(\"CU_MAGIC\", (long long)CU_MAGIC);",
	} {
		if !strings.Contains(program, want+"\n") {
			t.Errorf("no %s in\n%s", want, program)
		}
	}
}

func TestWritingAgainChangesNothingAndCheckSeesEveryDifference(t *testing.T) {
	out := t.TempDir()
	stale := filepath.Join(out, "zz_gone.go")
	if err := os.WriteFile(stale, []byte("package cu\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(include, out, false, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("a file that is not generated any more was left: %v", err)
	}
	first := generateMini(t)
	for name, text := range generateMini(t) {
		if !bytes.Equal(text, first[name]) {
			t.Errorf("%s differs between two runs", name)
		}
	}
	if err := run(include, out, true, false); err != nil {
		t.Errorf("check after writing: %v", err)
	}
	for name, spoil := range map[string]func() error{
		"zz_thing.go": func() error { return os.WriteFile(filepath.Join(out, "zz_thing.go"), []byte("x"), 0o600) },
		"zz_enums.go": func() error { return os.Remove(filepath.Join(out, "zz_enums.go")) },
		"zz_gone.go":  func() error { return os.WriteFile(stale, nil, 0o600) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if err := run(include, out, true, false); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s was spoilt, check says %v", name, err)
		}
	}
}

// If the version of an ABI is unknown, the generator must fail instead of guessing.
func TestAMismatchBetweenTheHeadersIsAnError(t *testing.T) {
	for what, replace := range map[string][2]string{
		"2 ABIs in cuda.h, 1 versions": {"typedef CUresult (*PFN_cuThingAdd_v11000)(CUthing *out, const CUparams *params);", ""},
		"cuThingScale takes":           {"CUthing thing, float factor", "CUthing thing, int factor"},
	} {
		dir := t.TempDir()
		for _, name := range []string{"cuda.h", "cudaProfiler.h", "cudaTypedefs.h", "cudaProfilerTypedefs.h"} {
			text, err := os.ReadFile(filepath.Join(include, name))
			if err != nil {
				t.Fatal(err)
			}
			if name == "cudaTypedefs.h" {
				text = bytes.Replace(text, []byte(replace[0]), []byte(replace[1]), 1)
			}
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := load(dir); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := load(t.TempDir()); err == nil {
		t.Error("no headers, no error")
	}
}

// A prototype must have a space between the type and the name, even if the name comes from a macro,
// as it does for the functions in cuda.h that use a stream.
func TestPrototypesAreAsTheHeaderHasThem(t *testing.T) {
	want := map[string]string{
		"cuThingOpen":  "CUresult cuThingOpen(CUthing *out, CUbig handle, unsigned int flags)",
		"cuThingScale": "CUresult cuThingScale(CUthing thing, float factor)",
	}
	for _, f := range loadMini(t).functions {
		if !strings.HasPrefix(f.proto, "CUresult cu") {
			t.Errorf("prototype of %s: %s", f.name, f.proto)
		}
		if w := want[f.name]; w != "" && f.proto != w {
			t.Errorf("prototype of %s: %q, want %q", f.name, f.proto, w)
		}
	}
}

func TestLongPrototypesAreBrokenAtCommas(t *testing.T) {
	in := "CUresult cuX(" + strings.Repeat("unsigned int aaaaaaaaaaaaaaaaaaaa, ", 5) + "int b)"
	for i, line := range strings.Split(wrap(in), "\n//\t") {
		if len(line) > 110 || i > 0 && !strings.HasPrefix(line, "    ") {
			t.Errorf("line %d: %q", i, line)
		}
	}
}
