package emulator

import "github.com/purecuda/cuda/driver/emulator/internal/vm"

// Handles are numbers that are never used twice, so a destroyed object's
// handle is recognised. They start well above the special stream handles and
// small integers that a caller may pass by mistake.
const (
	firstHandle = 0x10000
	handleStep  = 0x10
)

// register gives an object its handle.
func (e *Emulator) register(object any) uintptr {
	e.nextHandle += handleStep
	e.handles[e.nextHandle] = object
	if e.checks(CheckLeaks) {
		e.made[e.nextHandle] = vm.Here()
	}
	return e.nextHandle
}

// forget makes a handle invalid.
func (e *Emulator) forget(h uintptr) {
	delete(e.handles, h)
	delete(e.kept, h)
	delete(e.made, h)
}

// keep makes an array that was handed out live as long as a handle.
func (e *Emulator) keep(h uintptr, array any) { e.kept[h] = array }

// find returns the object of a handle, nil if it is none of that kind.
func find[T any](e *Emulator, h uintptr) *T {
	p, _ := e.handles[h].(*T)
	return p
}

// handleAt returns the object of the handle in argument i.
func handleAt[T any](c call, i int) *T { return find[T](c.e, c.Word(i)) }

// id returns a number for things that have an identity but no handle.
func (e *Emulator) id() uint64 {
	e.nextID++
	return e.nextID
}
