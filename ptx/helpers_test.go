package ptx_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

const header = ".version 8.0\n.target sm_80\n.address_size 64\n"

func parse(t testing.TB, src string) *ptx.Module {
	t.Helper()
	m, err := ptx.Parse("test.ptx", []byte(src))
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return m
}

func body(t testing.TB, src string) []ptx.Stmt {
	t.Helper()
	m := parse(t, header+".entry k() {\n"+src+"\n}\n")
	return m.Function("k").Body.Stmts
}

func lastInstr(t testing.TB, src string) *ptx.Instr {
	t.Helper()
	list := body(t, src)
	in, ok := list[len(list)-1].(*ptx.Instr)
	if !ok {
		t.Fatalf("last statement of %q is a %T", src, list[len(list)-1])
	}
	return in
}

func errorsOf(t testing.TB, err error) ptx.Errors {
	t.Helper()
	var list ptx.Errors
	if !errors.As(err, &list) {
		t.Fatalf("error is %T (%v), want ptx.Errors", err, err)
	}
	return list
}

func testdata(t testing.TB) map[string]string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.ptx")
	if err != nil || len(names) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	out := map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = string(b)
	}
	return out
}

func lines(s ...string) string { return strings.Join(s, "\n") }
