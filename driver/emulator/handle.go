package emulator

import "github.com/purecuda/cuda/driver/emulator/internal/vm"

// Handles are numbers that are never reused, so that the handle of a destroyed object is
// recognised. They start well above the special stream handles and the small integers that a caller
// may pass by mistake.
const (
	firstHandle = 0x10000
	handleStep  = 0x10
)

// register assigns a handle to an object.
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

// find returns the object of a handle, or nil if it is not of type T.
func find[T any](e *Emulator, h uintptr) *T {
	p, _ := e.handles[h].(*T)
	return p
}

// handleAt returns the object whose handle is argument i.
func handleAt[T any](c call, i int) *T { return find[T](c.e, c.Word(i)) }

// id returns a number for objects that need an identity but have no handle.
func (e *Emulator) id() uint64 {
	e.nextID++
	return e.nextID
}
