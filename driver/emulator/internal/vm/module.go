package vm

import (
	"fmt"
	"slices"
)

// Module is PTX compiled for execution, with its variables in memory. It is read-only after
// Compile, and any number of launches may use it.
type Module struct {
	mem     *Memory
	opts    CompileOptions
	kernels map[string]*Kernel
	names   []string
	vars    map[string]*Variable
	varList []*Variable
	regions []uint64 // of the variables, freed by Close
	bytes   uint64   // of the variables
}

// Kernel returns the kernel of that name.
func (m *Module) Kernel(name string) (*Kernel, bool) {
	k, ok := m.kernels[name]
	return k, ok
}

// Kernels returns the names of all kernels in source order.
func (m *Module) Kernels() []string { return append([]string(nil), m.names...) }

// Variable returns the .global or .const variable of that name.
func (m *Module) Variable(name string) (Variable, bool) {
	v, ok := m.vars[name]
	if !ok {
		return Variable{}, false
	}
	return *v, true
}

// Bytes returns the size of the variables in device memory.
func (m *Module) Bytes() uint64 { return m.bytes }

// Variables returns all variables in source order.
func (m *Module) Variables() []Variable {
	out := make([]Variable, len(m.varList))
	for i, v := range m.varList {
		out[i] = *v
	}
	return out
}

// Close frees the memory of the module's variables. Launches of its kernels
// must have ended.
func (m *Module) Close() error {
	// The last first, because then fewer entries have to move.
	for _, a := range slices.Backward(m.regions) {
		if _, err := m.mem.Free(a, "unloading of its module"); err != nil {
			return fmt.Errorf("free of a module's variables: %w", err)
		}
	}
	m.regions = nil
	return nil
}

// Name returns the kernel's name in the PTX.
func (k *Kernel) Name() string { return k.name }

// Params returns the kernel's parameters in order.
func (k *Kernel) Params() []Param { return k.params }

// Attributes returns the kernel's attributes. They depend on the kernel's program, which is made
// now if loading did not make it.
func (k *Kernel) Attributes() Attributes {
	k.ready()
	return k.attrs
}

// Module returns the module that contains the kernel.
func (k *Kernel) Module() *Module { return k.module }
