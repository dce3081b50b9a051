package loader

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// buildELF returns a 64-bit little-endian ELF file with only a dynamic section. The section
// contains the library's soname and the libraries that it needs.
func buildELF(soname string, needed []string) []byte {
	text := []byte{0}
	put := func(s string) uint64 {
		at := uint64(len(text))
		text = append(append(text, s...), 0)
		return at
	}
	dynamic := []elf.Dyn64{{Tag: int64(elf.DT_SONAME), Val: put(soname)}}
	for _, n := range needed {
		dynamic = append(dynamic, elf.Dyn64{Tag: int64(elf.DT_NEEDED), Val: put(n)})
	}
	dynamic = append(dynamic, elf.Dyn64{Tag: int64(elf.DT_NULL)})
	const header, section, entry = 64, 64, 16
	names := put(".dynamic")
	dynamicAt := uint64(header + 3*section)
	textAt := dynamicAt + uint64(len(dynamic))*entry
	var b bytes.Buffer
	write := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) } // a bytes.Buffer never fails
	h := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1,
		Shoff: header, Ehsize: header, Shentsize: section, Shnum: 3, Shstrndx: 2}
	copy(h.Ident[:], []byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)})
	write(h)
	write(elf.Section64{})
	write(elf.Section64{Name: uint32(names), Type: uint32(elf.SHT_DYNAMIC), Off: dynamicAt, Size: textAt - dynamicAt, Link: 2, Entsize: entry})
	write(elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: textAt, Size: uint64(len(text))})
	write(dynamic)
	b.Write(text)
	return b.Bytes()
}
