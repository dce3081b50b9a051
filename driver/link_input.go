package driver

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// linkInput is code as a linker takes it.
type linkInput struct {
	name   string
	symbol *byte // name as C takes it
	kind   CUjitInputType
	code   image
	opts   []JITOption
}

var archiveMagic = []byte("!<arch>\n")

func newLinkInput(name string, data []byte, opts []JITOption) (linkInput, error) {
	if err := checkLinkOptions(opts); err != nil {
		return linkInput{}, err
	}
	symbol, err := cName("linker's input", name)
	if err != nil {
		return linkInput{}, err
	}
	kind, code, err := readLinkInput(data)
	return linkInput{name, symbol, kind, code, slices.Clone(opts)}, err
}

// readLinkInput recognises what a linker takes besides images: object files of
// the host with GPU code in them, and archives of those.
func readLinkInput(data []byte) (CUjitInputType, image, error) {
	binary := image{format: formatCubin, data: data}
	switch {
	case bytes.HasPrefix(data, archiveMagic):
		return CU_JIT_INPUT_LIBRARY, binary, checkArchive(data)
	case isHostObject(data):
		return CU_JIT_INPUT_OBJECT, binary, checkObject(data)
	}
	code, err := newImage(data)
	if err == nil && code.format == formatCubin && !code.parts[0].Relocatable {
		err = invalidf("it is a cubin that is complete; a linker takes relocatable ones (nvcc -rdc=true)")
	}
	return inputKind(code.format), code, err
}

// add hands the input to the driver, which keeps nothing of it.
func (in *linkInput) add(d *Driver, state CUlinkState) error {
	var j jit
	if err := j.apply(in.opts); err != nil {
		return err
	}
	err := d.CuLinkAddData(state, in.kind, in.code.ptr(), uintptr(len(in.code.data)), in.symbol,
		j.count(), j.optionList(), j.valueList())
	j.answered()
	return err
}

// named keeps the input that an error is about.
func (in *linkInput) named(err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	named := *e
	named.about = in.name
	return &named
}

func inputKind(f imageFormat) CUjitInputType {
	switch f {
	case formatCubin:
		return CU_JIT_INPUT_CUBIN
	case formatFatbin:
		return CU_JIT_INPUT_FATBINARY
	}
	return CU_JIT_INPUT_PTX
}

// isHostObject reports whether data is an ELF file for a CPU.
func isHostObject(data []byte) bool {
	return bytes.HasPrefix(data, elfMagic) && len(data) >= elfHeaderSize &&
		data[4] == elfClass64 && data[5] == elfLittleEndian && le.Uint16(data[18:]) != elfMachineCUDA
}

// checkObject holds the tables of an object file against its length.
func checkObject(data []byte) error {
	if err := checkELFTables(data); err != nil {
		return err
	}
	if need := elfSize(data); need > uint64(len(data)) {
		return cutOff(len(data), need)
	}
	return nil
}

// checkArchive follows the members of an archive to its end. A member is a
// header of 60 bytes, whose size is written at byte 48, and its bytes, padded to
// an even number.
func checkArchive(data []byte) error {
	const header, sizeAt, sizeEnd = 60, 48, 58
	for at := len(archiveMagic); at < len(data); {
		if len(data)-at < header || data[at+sizeEnd] != '`' || data[at+sizeEnd+1] != '\n' {
			return invalidf("the archive has no member at byte %d: it is cut off or damaged", at)
		}
		size, err := strconv.ParseUint(strings.TrimSpace(string(data[at+sizeAt:at+sizeEnd])), 10, 40)
		if err != nil || size > uint64(len(data)-at-header) {
			return invalidf("the archive is cut off in the member at byte %d, or damaged", at)
		}
		at += header + int(size+size%2)
	}
	return nil
}
