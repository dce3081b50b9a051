package ptxtest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

// Agree checks that the results of the fast reader and of the parser are consistent: info and m
// must come from the same valid text.
func Agree(t testing.TB, m *ptx.Module, info *ptx.ModuleInfo) {
	t.Helper()
	if info.Version != m.Version || info.AddressSize != m.AddressSize || !slices.Equal(info.Targets, m.Targets) {
		t.Errorf("header %+v, parsed %v %v %v", info, m.Version, m.Targets, m.AddressSize)
	}
	seen := map[string]bool{}
	for _, d := range m.Decls {
		f, ok := d.(*ptx.Function)
		if !ok || !f.Entry || seen[f.Name] {
			continue
		}
		seen[f.Name] = true
		got := info.Kernel(f.Name)
		if got == nil {
			t.Errorf("kernel %s is not there", f.Name)
			continue
		}
		// If a function has several declarations, the reader may report the line of any of them.
		if want := f.Signature(); len(m.Kernels()) == len(info.Kernels) && f.Body != nil {
			want.Line = got.Line
			if !reflect.DeepEqual(*got, want) {
				t.Errorf("signature\n%+v\nparsed\n%+v", *got, want)
			}
		}
	}
	if len(seen) != len(info.Kernels) {
		t.Errorf("%d kernels, parsed %d", len(info.Kernels), len(seen))
	}
}

// withoutPositions clears every Pos in a tree, and the module's source.
func withoutPositions(m *ptx.Module) *ptx.Module {
	m.Name, m.Source = "", ""
	clearPositions(reflect.ValueOf(m))
	return m
}

func clearPositions(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			clearPositions(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			clearPositions(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[ptx.Pos]() {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			clearPositions(v.Field(i))
		}
	}
}

// RoundTrip checks that printing m and parsing the result yields an equal tree, and that printing
// that tree yields the same text.
func RoundTrip(t testing.TB, m *ptx.Module) {
	t.Helper()
	text := m.String()
	again, err := ptx.Parse("printed.ptx", []byte(text))
	if err != nil {
		t.Fatalf("what was printed does not parse: %+v\n%s", err, text)
	}
	if second := again.String(); second != text {
		t.Fatalf("printing is not stable, first\n%s\nsecond\n%s", text, second)
	}
	if !reflect.DeepEqual(withoutPositions(m), withoutPositions(again)) {
		t.Fatalf("the tree changed by printing and parsing\n%s", text)
	}
}
