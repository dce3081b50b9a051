package driver

import "fmt"

// What an ELF header has, and a cubin's; the numbers are those of the ELF
// specification, the names of CUDA's are LLVM's.
const (
	elfClass64      = 2
	elfLittleEndian = 1
	elfRelocatable  = 1 // e_type
	elfMachineCUDA  = 190

	elfHeaderSize  = 64
	elfSectionSize = 64
	elfProgramSize = 56

	cubinABI13 = 8 // EI_ABIVERSION of CUDA 13's layout; before it 7 and less
)

// The types of sections and segments that have bytes in the file.
const (
	sectionProgBits = 1
	sectionSymbols  = 2
	sectionStrings  = 3
	sectionRela     = 4
	sectionNote     = 7
	sectionRel      = 9

	segmentLoad    = 1
	segmentHeaders = 6
)

// checkCubin reads the header of a cubin and holds the tables and what they
// refer to against its length: the driver believes them, and a cubin that is
// cut off ends the process.
func checkCubin(data []byte) (ImagePart, error) {
	if err := checkELF(data); err != nil {
		return ImagePart{}, err
	}
	if need := elfSize(data); need > uint64(len(data)) {
		return ImagePart{}, cutOff(len(data), need)
	}
	p := ImagePart{Kind: ImageCubin, Arch: cubinArch(data)}
	p.Relocatable = le.Uint16(data[16:]) == elfRelocatable
	return p, nil
}

func cutOff(have int, need uint64) error {
	return invalidf("the image has %d bytes, but its header says that there are %d: it is cut off or damaged", have, need)
}

// checkELF refuses files that are ELF and no cubin.
func checkELF(data []byte) error {
	if len(data) < elfHeaderSize {
		return invalidf("the image has %d bytes, less than its header", len(data))
	}
	machine := le.Uint16(data[18:])
	switch {
	case data[4] != elfClass64:
		return invalidf("the image is an ELF file of 32 bits; the driver takes those of 64 bits (compile with -m64)")
	case data[5] != elfLittleEndian:
		return invalidf("the image is an ELF file, but not a little-endian one as cubins are")
	case machine != elfMachineCUDA:
		return invalidf("the image is an ELF file for %s and not for a GPU; a Linker takes the GPU code of object files", elfMachineName(machine))
	}
	return checkELFTables(data)
}

// elfMachineName names the processors that CUDA's hosts have.
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
	programs, sections := elfTable(data, 0x20, 0x36), elfTable(data, 0x28, 0x3a)
	names := uint64(le.Uint16(data[0x3e:]))
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

// cubinArch is the architecture in the flags of the header. CUDA 13 moved it.
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

// elfSize is where the tables of a 64-bit ELF file end, and the sections and
// segments whose bytes are certainly in the file. Cubins have sections of kinds
// of their own, some of them without bytes, as shared memory.
func elfSize(data []byte) uint64 {
	programs, sections := elfTable(data, 0x20, 0x36), elfTable(data, 0x28, 0x3a)
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
	case sectionProgBits, sectionSymbols, sectionStrings, sectionRela, sectionNote, sectionRel:
		return saturated(le.Uint64(header[0x18:]), le.Uint64(header[0x20:]))
	}
	return 0
}

func segmentEnd(header []byte) uint64 {
	switch le.Uint32(header) {
	case segmentLoad, segmentHeaders:
		return saturated(le.Uint64(header[0x08:]), le.Uint64(header[0x20:]))
	}
	return 0
}

// elfHeaders is a table of headers: n of them, of the same size.
type elfHeaders struct{ at, each, n uint64 }

// elfTable reads where a table is from the file's header.
func elfTable(data []byte, at, each int) elfHeaders {
	return elfHeaders{le.Uint64(data[at:]), uint64(le.Uint16(data[each:])), uint64(le.Uint16(data[each+2:]))}
}

func (h elfHeaders) end() uint64 {
	if h.n == 0 {
		return 0
	}
	return saturated(h.at, h.each*h.n)
}
