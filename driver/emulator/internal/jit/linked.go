package jit

import (
	"bytes"
	"encoding/binary"
)

// A linked image has the headers of a cubin in the layout of CUDA 13. One section holds the PTX of
// the inputs instead of machine code.
const (
	elfMachineCUDA = 190
	elfHeader      = 64
	elfSection     = 64
	linkedSection  = ".purecuda.ptx"
	linkedNames    = "\x00.shstrtab\x00" + linkedSection + "\x00"

	sectionProgBits = 1
	sectionStrings  = 3
)

var le = binary.LittleEndian

func writeImage(capability int, sources []Source) []byte {
	var text []byte
	for _, s := range sources {
		text = append(append(append(append(text, s.Name...), 0), s.Text...), 0)
	}
	textAt := elfHeader + len(linkedNames)
	tableAt := (textAt + len(text) + 7) &^ 7
	b := make([]byte, tableAt+3*elfSection)
	copy(b, "\x7fELF\x02\x01\x01\x41\x08")
	le.PutUint16(b[16:], 2) // the ELF type of an executable
	le.PutUint16(b[18:], elfMachineCUDA)
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[0x28:], uint64(tableAt))
	le.PutUint32(b[0x30:], uint32(capability)<<8|4)
	le.PutUint16(b[0x34:], elfHeader)
	le.PutUint16(b[0x3a:], elfSection)
	le.PutUint16(b[0x3c:], 3)
	le.PutUint16(b[0x3e:], 1)
	copy(b[elfHeader:], linkedNames)
	copy(b[textAt:], text)
	section(b[tableAt+elfSection:], 1, sectionStrings, elfHeader, len(linkedNames))
	section(b[tableAt+2*elfSection:], len("\x00.shstrtab\x00"), sectionProgBits, textAt, len(text))
	return b
}

func section(b []byte, name, kind, at, size int) {
	le.PutUint32(b, uint32(name))
	le.PutUint32(b[4:], uint32(kind))
	le.PutUint64(b[0x18:], uint64(at))
	le.PutUint64(b[0x20:], uint64(size))
}

// linkedSources returns the sources in an image that writeImage wrote, or nil for any other cubin.
// The layout must be exactly that of writeImage: header, names, sources and section table, in this
// order. linkedSources reads only the bytes between the end of the header and the end of the
// section table.
func linkedSources(image Image) []Source {
	head, ok := image.bytes(0, elfHeader)
	if !ok || le.Uint16(head[18:]) != elfMachineCUDA || le.Uint16(head[0x3c:]) != 3 ||
		le.Uint16(head[0x3a:]) != elfSection || head[7] != 0x41 {
		return nil
	}
	tableAt := le.Uint64(head[0x28:])
	table, ok := image.bytes(tableAt, 3*elfSection)
	if !ok {
		return nil
	}
	within := Image{image.data, tableAt}
	names, ok := within.section(table[elfSection:], sectionStrings, elfHeader)
	if !ok || string(names) != linkedNames {
		return nil
	}
	text, ok := within.section(table[2*elfSection:], sectionProgBits, elfHeader+uint64(len(names)))
	if !ok {
		return nil
	}
	sources := []Source{}
	for len(text) > 0 {
		name, rest, _ := bytes.Cut(text, []byte{0})
		body, next, _ := bytes.Cut(rest, []byte{0})
		sources = append(sources, Source{string(name), string(body)})
		text = next
	}
	return sources
}

// section returns the contents of a section. It returns false if the section header does not have
// the given type and offset.
func (i Image) section(header []byte, kind uint32, at uint64) ([]byte, bool) {
	if le.Uint32(header[4:]) != kind || le.Uint64(header[0x18:]) != at {
		return nil, false
	}
	return i.bytes(at, le.Uint64(header[0x20:]))
}
