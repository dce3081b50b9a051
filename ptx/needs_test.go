package ptx_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

// answer is a header and the result of the driver, from one line of
// testdata/headers-580.txt.
type answer struct{ text, code string }

// answers reads the headers in testdata and the driver's result for each header.
func answers(t *testing.T) []answer {
	t.Helper()
	data, err := os.ReadFile("testdata/headers-580.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []answer
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		text := ".version " + f[0] + "\n"
		if f[1] != "-" {
			text += ".target " + f[1] + "\n"
		}
		if f[2] != "-" {
			text += ".address_size " + f[2] + "\n"
		}
		out = append(out, answer{text + ".visible .entry k() { ret; }\n", f[3]})
	}
	if len(out) < 100 {
		t.Fatalf("%d answers are too few", len(out))
	}
	return out
}

// Check must agree with the recorded results of driver 580 on an H200 for every header.
func TestNeedsAgreeWithTheDriver(t *testing.T) {
	for _, a := range answers(t) {
		m, err := ptx.Parse("", []byte(a.text))
		if err != nil && !strings.Contains(a.text, ".target") {
			m, err = &ptx.Module{Version: ptx.Version{Major: 7}, AddressSize: 64}, nil
		}
		if err != nil {
			t.Fatalf("%+v", err)
		}
		want := map[string]string{"0": "", "222": "version", "218": "other"}[a.code]
		if got := kindOf(t, m.Needs().Check(13000, 9, 0)); got != want {
			t.Errorf("%q: %q, the driver said %q", a.text, got, want)
		}
		info, _ := ptx.Signatures([]byte(a.text))
		if got := kindOf(t, info.Needs().Check(13000, 9, 0)); got != want {
			t.Errorf("%q by its signatures: %q, the driver said %q", a.text, got, want)
		}
	}
}

func kindOf(t *testing.T, err error) string {
	t.Helper()
	var unmet *ptx.UnmetError
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &unmet):
		t.Fatalf("%v is a %T", err, err)
	case unmet.Kind == ptx.UnmetVersion:
		return "version"
	}
	return "other"
}

func TestCheckSaysWhatToDo(t *testing.T) {
	for name, test := range map[string]struct {
		version, target    string
		cuda, major, minor int
		words              []string
		kind               ptx.UnmetKind
	}{
		"driver too old":                 {"8.8", "sm_80", 12040, 8, 0, []string{"PTX 8.8 is newer", "CUDA 12.4", "up to 8.4", "CUDA 12.9 or newer", "lower .version to 8.4"}, ptx.UnmetVersion},
		"no release of its own":          {"8.6", "sm_80", 12060, 8, 0, []string{"accepts PTX up to 8.5", "CUDA 12.7 or newer"}, ptx.UnmetVersion},
		"version nobody knows":           {"12.3", "sm_80", 13000, 8, 0, []string{"PTX 12.3 is newer", "install a newer one"}, ptx.UnmetVersion},
		"no such version":                {"7.9", "sm_80", 13000, 8, 0, []string{"no PTX ISA 7.9"}, ptx.UnmetVersion},
		"device too old":                 {"7.8", "sm_90", 13000, 8, 6, []string{"compute capability 9.0 or newer", "this one has 8.6", "-arch=compute_86"}, ptx.UnmetTarget},
		"other architecture":             {"8.0", "sm_90a", 13000, 10, 0, []string{"9.0 only", `without the suffix "a"`, "architecture-specific"}, ptx.UnmetTarget},
		"other family":                   {"8.8", "sm_100f", 13000, 12, 0, []string{"later ones of its family (10.x)", `without the suffix "f"`, "family-specific"}, ptx.UnmetTarget},
		"renamed":                        {"8.8", "sm_101a", 13000, 12, 0, []string{"10.1 (11.0 since CUDA 13.0) only"}, ptx.UnmetTarget},
		"target too new for the version": {"7.0", "sm_86", 13000, 8, 6, []string{"came with PTX 7.1", "raise .version to 7.1", "CUDA 11.1"}, ptx.UnmetText},
		"no architecture":                {"7.0", "debug", 13000, 8, 6, []string{"no .target with an architecture"}, ptx.UnmetText},
		"not an architecture":            {"7.0", "sm_x", 13000, 8, 6, []string{"sm_x is not an architecture"}, ptx.UnmetText},
		"no such architecture":           {"7.0", "sm_71", 13000, 8, 6, []string{"no target sm_71"}, ptx.UnmetText},
	} {
		m := parse(t, ".version "+test.version+"\n.target "+test.target+"\n.address_size 64\n")
		err := m.Needs().Check(test.cuda, test.major, test.minor)
		var unmet *ptx.UnmetError
		if !errors.As(err, &unmet) || unmet.Kind != test.kind || unmet.Needs != m.Needs() {
			t.Errorf("%s: %#v", name, err)
			continue
		}
		for _, w := range test.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not contain %q", name, err, w)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q is more than a line", name, err)
		}
	}
}

// Check must accept versions and targets that are unknown to this package.
func TestTheUnknownIsNotRefused(t *testing.T) {
	for _, test := range []struct {
		version, target    string
		cuda, major, minor int
	}{
		{"9.7", "sm_90", 14000, 9, 0},    // the driver and the version are newer than the table
		{"10.2", "sm_150", 15000, 15, 0}, // and so is the device
		{"10.2", "sm_150f", 15000, 15, 3},
		{"9.0", "sm_88", 13990, 8, 8},
		{"99.0", "sm_90", 0, 9, 0},     // the driver is not checked
		{"8.0", "sm_90a", 13000, 0, 0}, // the device is not checked
		{"7.0", "sm_71", 0, 7, 5},
	} {
		n := parse(t, ".version "+test.version+"\n.target "+test.target+"\n.address_size 64\n").Needs()
		if err := n.Check(test.cuda, test.major, test.minor); err != nil {
			t.Errorf("%+v: %v", test, err)
		}
	}
	n := parse(t, ".version 10.2\n.target sm_150a\n").Needs()
	if err := n.Check(15000, 15, 3); err == nil {
		t.Error("code for one architecture is taken for another, not known as both are")
	}
}

func TestDriverOfAVersion(t *testing.T) {
	for text, want := range map[string]int{"3.0": 4010, "6.0": 9000, "7.8": 11080, "8.5": 12050, "8.6": 12070, "9.0": 13000} {
		if got, ok := parse(t, ".version "+text+"\n.target sm_20\n").Needs().Driver(); !ok || got != want {
			t.Errorf("PTX %s: CUDA %d, %v, want %d", text, got, ok, want)
		}
	}
	if v, ok := (ptx.Version{Major: 7, Minor: 9}).CUDA(); ok {
		t.Errorf("PTX 7.9 came with CUDA %d", v)
	}
	for cuda, want := range map[int]ptx.Version{13000: {Major: 9}, 12060: {Major: 8, Minor: 5}, 12069: {Major: 8, Minor: 5}, 9000: {Major: 6}, 11040: {Major: 7, Minor: 4}} {
		if got, known := ptx.NewestFor(cuda); !known || got != want {
			t.Errorf("CUDA %d: PTX %v, %v, want %v", cuda, got, known, want)
		}
	}
	if v, known := ptx.NewestFor(99000); known || v == (ptx.Version{}) {
		t.Errorf("of a driver of the future: %v, %v", v, known)
	}
	if v, known := ptx.NewestFor(0); known || v != (ptx.Version{}) {
		t.Errorf("of no driver: %v, %v", v, known)
	}
}

func TestTheMostDemandingTargetCounts(t *testing.T) {
	m := parse(t, ".version 8.0\n.target sm_80, debug\n.target sm_90a\n.target sm_90\n")
	if n := m.Needs(); n.Target.Name != "sm_90a" || n.Target.Scope != ptx.ArchSpecific {
		t.Errorf("%+v", n)
	}
	if s := m.Needs().String(); s != "a driver of CUDA 12.0 or newer and a device of compute capability 9.0 only" {
		t.Error(s)
	}
}

func TestTargets(t *testing.T) {
	for name, test := range map[string]struct{ on, off [][2]int }{
		"sm_52":      {[][2]int{{5, 2}, {9, 0}, {12, 0}}, [][2]int{{5, 0}, {3, 5}}},
		"compute_80": {[][2]int{{8, 0}, {8, 6}, {9, 0}}, [][2]int{{7, 5}}},
		"sm_90a":     {[][2]int{{9, 0}}, [][2]int{{8, 9}, {10, 0}}},
		"sm_100":     {[][2]int{{10, 0}, {10, 3}, {11, 0}, {12, 1}}, [][2]int{{9, 0}}},
		"sm_100f":    {[][2]int{{10, 0}, {10, 3}, {10, 7}}, [][2]int{{11, 0}, {10, 1}, {12, 0}, {9, 0}}},
		"sm_103f":    {[][2]int{{10, 3}, {10, 7}}, [][2]int{{10, 0}, {11, 0}}},
		"sm_101a":    {[][2]int{{10, 1}, {11, 0}}, [][2]int{{10, 0}, {10, 3}}},
		"sm_110a":    {[][2]int{{10, 1}, {11, 0}}, [][2]int{{12, 0}}},
		"sm_110":     {[][2]int{{10, 1}, {11, 0}, {12, 0}}, [][2]int{{10, 3}}},
		"sm_120f":    {[][2]int{{12, 0}, {12, 1}}, [][2]int{{11, 0}, {13, 0}}},
	} {
		target, ok := ptx.ParseTarget(name)
		if !ok || target.String() != name {
			t.Errorf("%s: %+v, %v", name, target, ok)
		}
		for _, c := range test.on {
			if !target.RunsOn(c[0], c[1]) {
				t.Errorf("%s does not run on %v", name, c)
			}
		}
		for _, c := range test.off {
			if target.RunsOn(c[0], c[1]) {
				t.Errorf("%s runs on %v", name, c)
			}
		}
	}
	for _, name := range []string{"", "sm_", "sm_a", "sm_5", "sm_9x", "debug", "sm_-1", "sm_99999999", "lto_80"} {
		if target, ok := ptx.ParseTarget(name); ok {
			t.Errorf("%q is %+v", name, target)
		}
	}
	if s := (ptx.Target{Major: 10, Minor: 3, Scope: ptx.FamilySpecific}).String(); s != "sm_103f" {
		t.Error(s)
	}
}
