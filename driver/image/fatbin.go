package image

// A fat binary consists of a 16-byte header and a list of entries. Each entry consists of a header
// and contents. The file header and the entry header are:
//
//	u32 magic, u16 version, u16 size of the header, u64 size of the rest
//
//	u16 kind, u16 version, u32 size of the header, u64 size of the bytes,
//	u32 compressed size, u32, u16 minor, u16 major, u32 architecture,
//	u32, u32, u64 flags, u64, u64 uncompressed size
//
// NVIDIA does not document the format. This description is derived from the output of fatbinary
// from CUDA 11.8 and 13.0.
const (
	fatbinHeaderSize = 16
	fatbinEntrySize  = 64
	fatbinVersion    = 1

	fatbinPTX = 1
	fatbinELF = 2

	fatbinLZ4        = 0x2000 // fatbinary before CUDA 13; nvcc 13 with --compress-mode=speed
	fatbinZstd       = 0x8000 // nvcc's default since CUDA 12.8
	fatbinCompressed = 0x1000 | fatbinLZ4 | fatbinZstd
	fatbinSpecific   = 1 << 20 // suffix a, as in sm_90a
	fatbinFamily     = 1 << 21 // suffix f, as in sm_100f
)

// checkFatbin reads all entries and checks that they lie within data.
func checkFatbin(data []byte) ([]Part, error) {
	if len(data) < fatbinHeaderSize {
		return nil, invalidf("the image has %d bytes, less than its header", len(data))
	}
	header := uint64(le.Uint16(data[6:]))
	end := saturated(header, le.Uint64(data[8:]))
	switch version := le.Uint16(data[4:]); {
	case version != fatbinVersion:
		return nil, invalidf("the image is a fat binary of version %d, this package knows version %d", version, fatbinVersion)
	case header < fatbinHeaderSize:
		return nil, invalidf("the image is damaged: a fat binary's header of %d bytes", header)
	case end > uint64(len(data)):
		return nil, cutOff(len(data), end)
	}
	return fatbinEntries(data[header:end])
}

func fatbinEntries(body []byte) ([]Part, error) {
	var parts []Part
	for n := 0; len(body) > 0; n++ {
		part, size, err := fatbinEntry(body)
		if err != nil {
			return nil, invalidf("entry %d of the fat binary: %v", n, err)
		}
		if part.known() {
			parts = append(parts, part)
		}
		body = body[size:]
	}
	return parts, nil
}

// fatbinEntry reads the first entry of body. It also returns the entry's length.
func fatbinEntry(body []byte) (Part, uint64, error) {
	if len(body) < fatbinEntrySize {
		return Part{}, 0, invalidf("%d bytes are left, less than its header: it is truncated or damaged", len(body))
	}
	header, size := uint64(le.Uint32(body[4:])), le.Uint64(body[8:])
	end := saturated(header, size)
	switch packed := uint64(le.Uint32(body[16:])); {
	case header < fatbinEntrySize:
		return Part{}, 0, invalidf("it is damaged: a header of %d bytes", header)
	case end > uint64(len(body)):
		return Part{}, 0, invalidf("it has %d bytes, but %d are left: it is truncated or damaged", end, len(body))
	case packed > size:
		return Part{}, 0, invalidf("it is damaged: %d compressed bytes in %d", packed, size)
	}
	part, err := fatbinPart(body[:header], body[header:end])
	return part, end, err
}

// fatbinPart reads the contents of an entry. It returns a zero Part for an entry that no device
// executes, such as input for link-time optimisation. An uncompressed cubin is checked like a
// stand-alone cubin.
func fatbinPart(header, data []byte) (Part, error) {
	flags := le.Uint64(header[40:])
	p := Part{Arch: archOf(le.Uint32(header[28:]), fatbinSuffix(flags)), data: data, packing: flags & fatbinCompressed}
	if p.Compressed = p.packing != 0; p.Compressed {
		p.data = data[:le.Uint32(header[16:])] // the remaining bytes in data are padding
		p.size = le.Uint64(header[56:])
	}
	switch le.Uint16(header) {
	case fatbinPTX:
		p.Kind = PTX
		p.Version.Minor, p.Version.Major = int(le.Uint16(header[24:])), int(le.Uint16(header[26:]))
	case fatbinELF:
		p.Kind = Cubin
		if !p.Compressed {
			inner, err := checkCubin(data)
			p.Relocatable = inner.Relocatable
			return p, err
		}
	default:
		return Part{}, nil
	}
	return p, nil
}

func fatbinSuffix(flags uint64) byte {
	switch {
	case flags&fatbinSpecific != 0:
		return 'a'
	case flags&fatbinFamily != 0:
		return 'f'
	}
	return 0
}
