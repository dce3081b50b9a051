package driver

import (
	"slices"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/image"
)

// linkInput is code as a linker takes it.
type linkInput struct {
	name   string
	symbol *byte // name as C takes it
	kind   cu.CUjitInputType
	code   loadable
	opts   []JITOption
}

func newLinkInput(name string, data []byte, opts []JITOption) (linkInput, error) {
	if err := checkLinkOptions(opts); err != nil {
		return linkInput{}, err
	}
	symbol, err := cName("linker's input", name)
	if err != nil {
		return linkInput{}, err
	}
	kind, err := image.CheckInput(data)
	if err != nil {
		return linkInput{}, invalidImage(err)
	}
	return linkInput{name, symbol, inputKind(kind), terminated(new([]byte), kind, data), slices.Clone(opts)}, nil
}

// add passes the input to the driver, which does not keep a reference to it.
func (in *linkInput) add(d *Driver, state cu.CUlinkState) error {
	var j jit
	if err := j.apply(in.opts); err != nil {
		return err
	}
	err := d.CuLinkAddData(state, in.kind, in.code.ptr(), uintptr(len(in.code.data)), in.symbol,
		j.count(), j.optionList(), j.valueList())
	j.answered()
	return err
}

func inputKind(k image.Kind) cu.CUjitInputType {
	switch k {
	case image.Cubin:
		return cu.CU_JIT_INPUT_CUBIN
	case image.Fatbin:
		return cu.CU_JIT_INPUT_FATBINARY
	case image.Object:
		return cu.CU_JIT_INPUT_OBJECT
	case image.Archive:
		return cu.CU_JIT_INPUT_LIBRARY
	}
	return cu.CU_JIT_INPUT_PTX
}
