package driver

import (
	"bytes"
	"strconv"
	"strings"
)

// linkInput is code as a linker takes it.
type linkInput struct {
	kind CUjitInputType
	code image // of PTX the text
}

var archiveMagic = []byte("!<arch>\n")

// newLinkInput recognises what a linker takes besides images: object files of
// the host with GPU code in them, and archives of those.
func newLinkInput(data []byte) (linkInput, error) {
	switch {
	case bytes.HasPrefix(data, archiveMagic):
		return linkInput{CU_JIT_INPUT_LIBRARY, image{format: formatCubin, data: data}}, checkArchive(data)
	case isHostObject(data):
		return linkInput{CU_JIT_INPUT_OBJECT, image{format: formatCubin, data: data}}, checkObject(data)
	}
	code, err := newImage(data)
	return linkInput{inputKind(code.format), code}, err
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
