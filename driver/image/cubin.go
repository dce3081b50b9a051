package image

import (
	"fmt"
	"math"
	"math/bits"
)

// Values in the headers of ELF files and cubins. The numbers come from the ELF specification, and
// the names of values specific to CUDA come from LLVM.
const (
	elfClass64      = 2
	elfLittleEndian = 1
	elfRelocatable  = 1 // e_type
	elfMachineCUDA  = 190

	elfHeaderSize  = 64
	elfSectionSize = 64
	elfProgramSize = 56

	cubinABI13 = 8 // EI_ABIVERSION of CUDA 13's layout; earlier layouts have at most 7
)

// Sections of these types have no bytes in the file. Sections of all other types are assumed to
// have bytes. This includes unknown types, because the driver may know them and read the bytes. The
// CUDA-specific types are those that ptxas uses for .nv.global, .nv.local, .nv.shared and the
// shared memory that a compiler reserves.
const (
	sectionNull           = 0
	sectionNoBits         = 8
	sectionGlobal         = 0x70000007
	sectionLocal          = 0x70000009
	sectionShared         = 0x7000000a
	sectionSharedReserved = 0x70000015

	segmentNull = 0
)

// checkCubin reads the header of a cubin. It checks that the tables, and the sections and segments
// that they list, lie within data. The driver does not check this, so a truncated cubin crashes the
// process.
func checkCubin(data []byte) (Part, error) {
	if err := checkELF(data); err != nil {
		return Part{}, err
	}
	if need := elfSize(data); need > uint64(len(data)) {
		return Part{}, cutOff(len(data), need)
	}
	p := Part{Kind: Cubin, Arch: cubinArch(data), data: data}
	p.Relocatable = le.Uint16(data[16:]) == elfRelocatable
	return p, nil
}

func cutOff(have int, need uint64) error {
	return invalidf("the image has %d bytes, but its header says %d: it is truncated or damaged", have, need)
}

// checkELF rejects files that are not 64-bit little-endian ELF for GPUs, and files with damaged
// headers.
func checkELF(data []byte) error {
	if len(data) < elfHeaderSize {
		return invalidf("the image has %d bytes, less than its header", len(data))
	}
	machine := le.Uint16(data[18:])
	switch {
	case data[4] != elfClass64:
		return invalidf("the image is a 32-bit ELF file; the driver takes 64-bit ones (compile with -m64)")
	case data[5] != elfLittleEndian:
		return invalidf("the image is an ELF file, but not a little-endian one as cubins are")
	case machine != elfMachineCUDA:
		return invalidf("the image is an ELF file for %s and not for a GPU; a Linker takes the GPU code of object files", elfMachineName(machine))
	}
	return checkELFTables(data)
}

func elfMachineName(m uint16) string {
	switch m {
	case 62:
		return "x86-64"
	case 183:
		return "arm64"
	}
	return fmt.Sprintf("machine %d", m)
}

func checkELFTables(data []byte) error {
	programs, sections := elfTable(data, 0x20, 0x36), elfSections(data)
	names := sectionNames(data, sections)
	switch {
	case sections.n > 0 && sections.each != elfSectionSize:
		return invalidf("the image is damaged: section headers of %d bytes, %d are right", sections.each, elfSectionSize)
	case programs.n > 0 && programs.each != elfProgramSize:
		return invalidf("the image is damaged: program headers of %d bytes, %d are right", programs.each, elfProgramSize)
	case sections.n > 0 && names >= sections.n:
		return invalidf("the image is damaged: the names of sections are in section %d of %d", names, sections.n)
	}
	return nil
}

// cubinArch reads the architecture from the header's flags. Their layout changed in CUDA 13. For an
// unknown layout, cubinArch returns the zero Arch.
func cubinArch(data []byte) Arch {
	flags, number, specific := le.Uint32(data[0x30:]), uint32(0), uint32(0)
	switch abi := data[8]; {
	case abi < cubinABI13:
		number, specific = flags&0xff, flags&0x800
	case abi == cubinABI13:
		number, specific = flags>>8&0xff, flags&0x8
	}
	if specific != 0 {
		return archOf(number, 'a')
	}
	return archOf(number, 0)
}

// elfSize returns the offset at which the last table, section or segment ends.
func elfSize(data []byte) uint64 {
	programs, sections := elfTable(data, 0x20, 0x36), elfSections(data)
	end := max(programs.end(), sections.end())
	if end > uint64(len(data)) {
		return end
	}
	for i := range sections.n {
		end = max(end, sectionEnd(data[sections.at+i*sections.each:]))
	}
	for i := range programs.n {
		end = max(end, segmentEnd(data[programs.at+i*programs.each:]))
	}
	return end
}

func sectionEnd(header []byte) uint64 {
	switch le.Uint32(header[4:]) {
	case sectionNull, sectionNoBits, sectionGlobal, sectionLocal, sectionShared, sectionSharedReserved:
		return 0
	}
	return endOf(le.Uint64(header[0x18:]), le.Uint64(header[0x20:]))
}

func segmentEnd(header []byte) uint64 {
	if le.Uint32(header) == segmentNull {
		return 0
	}
	return endOf(le.Uint64(header[0x08:]), le.Uint64(header[0x20:]))
}

// endOf returns the end of a range of bytes. For an empty range, it returns 0, because such a range
// may have any offset.
func endOf(at, size uint64) uint64 {
	if size == 0 {
		return 0
	}
	return saturated(at, size)
}

type elfHeaders struct{ at, each, n uint64 }

// elfTable reads a table's position, entry size and number of entries from the file header.
func elfTable(data []byte, at, each int) elfHeaders {
	return elfHeaders{le.Uint64(data[at:]), uint64(le.Uint16(data[each:])), uint64(le.Uint16(data[each+2:]))}
}

// elfSections returns the section table. If the number of sections does not fit in the file header,
// the size field of the first section header holds it.
func elfSections(data []byte) elfHeaders {
	h := elfTable(data, 0x28, 0x3a)
	if h.n != 0 || h.at == 0 {
		return h
	}
	h.n = 1
	if h.end() <= uint64(len(data)) && h.each == elfSectionSize {
		h.n = le.Uint64(data[h.at+0x20:])
	}
	return h
}

// sectionNames returns the index of the section that holds the section names. If the index does not
// fit in the file header, the first section header holds it.
func sectionNames(data []byte, sections elfHeaders) uint64 {
	const reserved, elsewhere = 0xff00, 0xffff
	n := uint64(le.Uint16(data[0x3e:]))
	if n == elsewhere && sections.n >= reserved && sections.each == elfSectionSize && sections.end() <= uint64(len(data)) {
		return uint64(le.Uint32(data[sections.at+0x28:]))
	}
	return n
}

func (h elfHeaders) end() uint64 {
	if h.n == 0 {
		return 0
	}
	over, size := bits.Mul64(h.each, h.n)
	if over != 0 {
		return math.MaxUint64
	}
	return saturated(h.at, size)
}
