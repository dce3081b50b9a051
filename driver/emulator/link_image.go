package emulator

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx"
)

// source is one PTX text of an image, with its name.
type source struct{ name, text string }

// plainSource is a text that was loaded by itself, by the name that ptxas has
// for it.
func plainSource(text string) []source { return []source{{"ptx input", text}} }

// What a linker makes here is a cubin by its headers, in the layout of CUDA 13,
// and holds the PTX of its inputs in one section instead of machine code.
const (
	elfMachineCUDA = 190
	elfHeader      = 64
	elfSection     = 64
	linkedSection  = ".purecuda.ptx"
)

var le = binary.LittleEndian

// writeImage makes the image of linked sources for a compute capability.
func writeImage(capability int, sources []source) []byte {
	var text []byte
	for _, s := range sources {
		text = append(append(append(append(text, s.name...), 0), s.text...), 0)
	}
	names := "\x00.shstrtab\x00" + linkedSection + "\x00"
	textAt := elfHeader + len(names)
	tableAt := (textAt + len(text) + 7) &^ 7
	b := make([]byte, tableAt+3*elfSection)
	copy(b, "\x7fELF\x02\x01\x01\x41\x08")
	le.PutUint16(b[16:], 2) // executable
	le.PutUint16(b[18:], elfMachineCUDA)
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[0x28:], uint64(tableAt))
	le.PutUint32(b[0x30:], uint32(capability)<<8|4)
	le.PutUint16(b[0x34:], elfHeader)
	le.PutUint16(b[0x3a:], elfSection)
	le.PutUint16(b[0x3c:], 3)
	le.PutUint16(b[0x3e:], 1)
	copy(b[elfHeader:], names)
	copy(b[textAt:], text)
	section(b[tableAt+elfSection:], 1, 3, elfHeader, len(names))
	section(b[tableAt+2*elfSection:], len("\x00.shstrtab\x00"), 1, textAt, len(text))
	return b
}

// section fills a section's header: name, type, place and size.
func section(b []byte, name, kind, at, size int) {
	le.PutUint32(b, uint32(name))
	le.PutUint32(b[4:], uint32(kind))
	le.PutUint64(b[0x18:], uint64(at))
	le.PutUint64(b[0x20:], uint64(size))
}

// linkedSources reads what writeImage wrote. Like a driver it gets no length and
// believes the headers; nil is a cubin of somebody else.
func linkedSources(image unsafe.Pointer) []source {
	head := unsafe.Slice((*byte)(image), elfHeader)
	if le.Uint16(head[18:]) != elfMachineCUDA || le.Uint16(head[0x3c:]) != 3 || head[7] != 0x41 {
		return nil
	}
	table := unsafe.Slice((*byte)(unsafe.Add(image, le.Uint64(head[0x28:]))), 3*elfSection)
	names, text := sectionBytes(image, table[elfSection:]), sectionBytes(image, table[2*elfSection:])
	if !bytes.HasSuffix(names, []byte("\x00"+linkedSection+"\x00")) {
		return nil
	}
	sources := []source{}
	for len(text) > 0 {
		name, rest, _ := bytes.Cut(text, []byte{0})
		body, next, _ := bytes.Cut(rest, []byte{0})
		sources = append(sources, source{string(name), string(body)})
		text = next
	}
	return sources
}

func sectionBytes(image unsafe.Pointer, header []byte) []byte {
	at, size := le.Uint64(header[0x18:]), le.Uint64(header[0x20:])
	return unsafe.Slice((*byte)(unsafe.Add(image, at)), size)
}

// fatbinSource is the PTX of a fat binary that a device of the capability would
// compile, as far as it can be read here; false if there is none.
func fatbinSource(image unsafe.Pointer, capability int) ([]source, bool) {
	head := unsafe.Slice((*byte)(image), 16)
	at, end := uint64(le.Uint16(head[6:])), uint64(le.Uint16(head[6:]))+le.Uint64(head[8:])
	best, text := -1, ""
	for at < end {
		entry := unsafe.Slice((*byte)(unsafe.Add(image, at)), 64)
		size := uint64(le.Uint32(entry[4:])) + le.Uint64(entry[8:])
		if arch := int(le.Uint32(entry[28:])); arch <= capability && arch > best {
			if t, ok := entryText(unsafe.Slice((*byte)(unsafe.Add(image, at)), size)); ok {
				best, text = arch, t
			}
		}
		at += size
	}
	return plainSource(text), best >= 0
}

// The flags of an entry that say how it is compressed.
const (
	packedLZ4 = 0x2000
	packedAny = 0x1000 | packedLZ4 | 0x8000
)

// entryText is the PTX of an entry: as it is, or compressed as up to CUDA 12.
func entryText(entry []byte) (string, bool) {
	const kindPTX = 1
	if le.Uint16(entry) != kindPTX {
		return "", false
	}
	data, packed := entry[le.Uint32(entry[4:]):], le.Uint32(entry[16:])
	switch le.Uint64(entry[40:]) & packedAny {
	case 0:
	case packedLZ4:
		var err error
		if data, err = unpackLZ4(data[:min(int(packed), len(data))], int(le.Uint32(entry[56:]))); err != nil {
			return "", false
		}
	default:
		return "", false
	}
	text, _, _ := bytes.Cut(data, []byte{0})
	return string(text), true
}

// parseAll reads the texts of an image.
func parseAll(sources []source) ([]*ptx.Module, result, error) {
	trees := make([]*ptx.Module, len(sources))
	for i, s := range sources {
		tree, r, err := parsePTX(s.name, s.text)
		if err != nil {
			return nil, r, err
		}
		trees[i] = tree
	}
	return trees, driver.CUDA_SUCCESS, nil
}
