package corpus_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/verify/corpus"
)

func parse(t *testing.T, line string) (corpus.Step, error) {
	t.Helper()
	src, err := corpus.ParseSource("test", "int x;\n"+line+"\n")
	if err != nil {
		return corpus.Step{}, err
	}
	return src.Steps[0], nil
}

func mustParse(t *testing.T, line string) corpus.Step {
	t.Helper()
	s, err := parse(t, line)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestALineDescribesALaunch(t *testing.T) {
	s := mustParse(t, "//@ k<<<2x3, 8x4x2, 128>>>(a f32[10] range(-1,1) ~1e-6, b u8[3] zero ?, n i32 -7, p {q i8 1, r {s f64 0.5}}, c @a, d null) sm=90 cluster=2")
	if s.Kind != corpus.Launch || s.Name != "k" || s.Shared != 128 || s.SM != 90 {
		t.Errorf("launch: %+v", s)
	}
	if s.Grid != driver.D2(2, 3) || s.Block != driver.D3(8, 4, 2) || s.Cluster != driver.D1(2) {
		t.Errorf("extents: %v %v %v", s.Grid, s.Block, s.Cluster)
	}
	if len(s.Args) != 6 {
		t.Fatalf("%d arguments", len(s.Args))
	}
	if a := s.Args[0]; !a.Buffer || a.Count != 10 || a.Tol != 1e-6 || a.Fill.Kind != "range" || len(a.Fill.Params) != 2 {
		t.Errorf("buffer: %+v", a)
	}
	if b := s.Args[1]; !b.Varies || b.Tol != 0 {
		t.Errorf("buffer that varies: %+v", b)
	}
	if n := s.Args[2]; n.Buffer || !n.Integer || int64(n.Bits) != -7 {
		t.Errorf("number: %+v", n)
	}
	if p := s.Args[3]; len(p.Fields) != 2 || len(p.Fields[1].Fields) != 1 || p.Fields[1].Fields[0].Value != 0.5 {
		t.Errorf("struct: %+v", p)
	}
	if s.Args[4].Same != "a" || !s.Args[5].Null {
		t.Errorf("alias and null: %+v", s.Args[4:])
	}
}

func TestLinesSetAndGetVariables(t *testing.T) {
	if s := mustParse(t, "//@ set v u16[3] ramp(5)"); s.Kind != corpus.Set || s.Name != "v" || s.Args[0].Count != 3 {
		t.Errorf("set: %+v", s)
	}
	if s := mustParse(t, "//@ get v f32[3] ~1e-3"); s.Kind != corpus.Get || s.Args[0].Tol != 1e-3 {
		t.Errorf("get: %+v", s)
	}
}

func TestWhatIsWrongInALineIsNamed(t *testing.T) {
	for line, want := range map[string]string{
		"":                                   "no line says",
		"//@":                                "the name of a kernel",
		"//@ k":                              `expected "<<<"`,
		"//@ k<<<1>>>()":                     `expected ","`,
		"//@ k<<<a, 1>>>()":                  "malformed size",
		"//@ k<<<1, 1, x>>>()":               `"x" is not a whole number`,
		"//@ k<<<1, 1>>>(a f31 1)":           `"f31" is not a type`,
		"//@ k<<<1, 1>>>(a f32 one)":         `"one" is not a number`,
		"//@ k<<<1, 1>>>(a f32[4] full)":     `"full" is nothing`,
		"//@ k<<<1, 1>>>(a f32[4] range(1))": "range takes 2 to 2 numbers, not 1",
		"//@ k<<<1, 1>>>(a f32[4] zero":      "the end of the line",
		"//@ k<<<1, 1>>>() fast":             "unknown option fast",
		"//@ get v f32[1] zero":              "unknown option zero",
	} {
		if _, err := parse(t, line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q in it", line, err, want)
		}
	}
}
