package cu

import (
	"bufio"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/purecuda/cuda/loader"
)

// layout is a row of the table. For a type, it holds the size and the alignment, and for a field,
// the size and the offset.
type layout struct{ size, place uintptr }

// lowered lists the types whose C alignment cannot be expressed in Go. The values are their
// alignments in Go.
var lowered = map[string]uintptr{"CUtensorMap": 8}

// The expected layouts are in testdata/layout-13.0.txt. They were printed by a C program that
// cudagen -layout generates from cuda.h (docs/internals/regenerate.md).
func TestLayoutsAndValuesAreThoseOfTheCCompiler(t *testing.T) {
	f, err := os.Open("testdata/layout-13.0.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		seen[words[0]]++
		switch words[0] {
		case "type", "field":
			checkLayout(t, words)
		case "value":
			checkNumber(t, goValues, words)
		case "constant":
			checkNumber(t, goConstants, words)
		default:
			t.Fatalf("unknown line %q", lines.Text())
		}
	}
	if got := seen["type"] + seen["field"]; got != len(goLayouts) {
		t.Errorf("C printed %d types and fields, Go has %d", got, len(goLayouts))
	}
	if seen["value"] != len(goValues) || seen["constant"] != len(goConstants) {
		t.Errorf("C printed %d values and %d constants, Go has %d and %d",
			seen["value"], seen["constant"], len(goValues), len(goConstants))
	}
	if seen["type"] < 280 || seen["field"] < 500 || seen["value"] < 800 {
		t.Errorf("only %d types, %d fields and %d values in the data", seen["type"], seen["field"], seen["value"])
	}
}

func checkLayout(t *testing.T, words []string) {
	t.Helper()
	want := layout{layoutNumber[uintptr](t, words[2]), layoutNumber[uintptr](t, words[3])}
	if words[0] == "type" && lowered[words[1]] != 0 {
		want.place = lowered[words[1]]
	}
	got, ok := goLayouts[words[1]]
	if !ok {
		t.Errorf("%s is not in Go", words[1])
	} else if got != want {
		t.Errorf("%s %s: size, place %v, C has %v", words[0], words[1], got, want)
	}
}

func checkNumber(t *testing.T, have map[string]int64, words []string) {
	t.Helper()
	got, ok := have[words[1]]
	if want := layoutNumber[int64](t, words[2]); !ok || got != want {
		t.Errorf("%s = %d (known: %v), C has %d", words[1], got, ok, want)
	}
}

func layoutNumber[T uintptr | int64](t *testing.T, s string) T {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return T(n)
}

// functions.slice relies on this layout.
func TestTheTableHasAProcForEachFunctionInOrder(t *testing.T) {
	typ := reflect.TypeFor[functions]()
	if typ.NumField() != functionCount || typ.Size() != reflect.TypeFor[[functionCount]loader.Proc]().Size() {
		t.Fatalf("%d fields, %d bytes", typ.NumField(), typ.Size())
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Name != Function(i).String() || f.Type != reflect.TypeFor[loader.Proc]() {
			t.Errorf("field %d is %s %v, want %v", i, f.Name, f.Type, Function(i))
		}
	}
}
