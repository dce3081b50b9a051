package image

import (
	"bytes"
	"strconv"
	"strings"
)

// CheckInput is like Check, but for linker inputs. It also accepts host object files that contain
// GPU code, and archives of such files. It rejects a cubin that is already linked.
func CheckInput(data []byte) (Kind, error) {
	switch {
	case bytes.HasPrefix(data, archiveMagic):
		return Archive, checkArchive(data)
	case isHostObject(data):
		return Object, checkObject(data)
	}
	kind, parts, err := read(data)
	if err == nil && kind == Cubin && !parts[0].Relocatable {
		err = invalidf("it is a fully linked cubin; a linker takes relocatable ones (nvcc -rdc=true)")
	}
	return kind, err
}

func isHostObject(data []byte) bool {
	return bytes.HasPrefix(data, elfMagic) && len(data) >= elfHeaderSize &&
		data[4] == elfClass64 && data[5] == elfLittleEndian && le.Uint16(data[18:]) != elfMachineCUDA
}

// checkObject checks that the tables, sections and segments of an object file lie within data.
func checkObject(data []byte) error {
	if err := checkELFTables(data); err != nil {
		return err
	}
	if need := elfSize(data); need > uint64(len(data)) {
		return cutOff(len(data), need)
	}
	return nil
}

// checkArchive checks that every member of an archive lies within data. A member consists of a
// 60-byte header, which holds the member's size at offset 48, and of contents padded to an even
// number of bytes.
func checkArchive(data []byte) error {
	const header, sizeAt, sizeEnd = 60, 48, 58
	for at := len(archiveMagic); at < len(data); {
		if len(data)-at < header || data[at+sizeEnd] != '`' || data[at+sizeEnd+1] != '\n' {
			return invalidf("the archive has no member at byte %d: it is truncated or damaged", at)
		}
		size, err := strconv.ParseUint(strings.TrimSpace(string(data[at+sizeAt:at+sizeEnd])), 10, 40)
		if err != nil || size > uint64(len(data)-at-header) {
			return invalidf("the archive is truncated in the member at byte %d, or damaged", at)
		}
		at += header + int(size+size%2)
	}
	return nil
}
