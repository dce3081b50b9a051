package loader

import (
	"testing"
	"unsafe"
)

// The assembly hard-codes these offsets. Only this test notices a change.
func TestLayoutIsWhatTheAssemblyReads(t *testing.T) {
	for _, f := range []struct {
		name string
		got  uintptr
		want uintptr
	}{
		{"Proc.addr", unsafe.Offsetof(Proc{}.addr), 0},
		{"Call.Proc", unsafe.Offsetof(Call{}.Proc), 0},
		{"Call.Scope", unsafe.Offsetof(Call{}.Scope), 8},
		{"Call.N", unsafe.Offsetof(Call{}.N), 16},
		{"Call.Ret", unsafe.Offsetof(Call{}.Ret), 24},
		{"size of Call", unsafe.Sizeof(Call{}), 32},
		{"Scope.value", unsafe.Offsetof(Scope{}.value), 0},
		{"Scope.get", unsafe.Offsetof(Scope{}.get), 8},
		{"Scope.set", unsafe.Offsetof(Scope{}.set), 16},
		{"Scope.exchange", unsafe.Offsetof(Scope{}.exchange), 24},
		{"batchHead.scope", unsafe.Offsetof(batchHead{}.scope), 0},
		{"batchHead.first", unsafe.Offsetof(batchHead{}.first), 8},
		{"batchHead.n", unsafe.Offsetof(batchHead{}.n), 16},
		{"batchHead.done", unsafe.Offsetof(batchHead{}.done), 24},
		{"batchHead.ret", unsafe.Offsetof(batchHead{}.ret), 32},
	} {
		if f.got != f.want {
			t.Errorf("%s is at %d, the assembly reads %d", f.name, f.got, f.want)
		}
	}
}
