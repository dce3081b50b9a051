package driver

// A fat binary is a header of 16 bytes and entries, each a header and bytes:
//
//	u32 magic, u16 version, u16 size of the header, u64 size of the rest
//
//	u16 kind, u16 version, u32 size of the header, u64 size of the bytes,
//	u32 compressed size, u32, u16 minor, u16 major, u32 architecture,
//	u32, u32, u64 flags, u64, u64 uncompressed size
//
// NVIDIA does not document it; this is what fatbinary of CUDA 11.8 and of 13.0
// write.
const (
	fatbinHeaderSize = 16
	fatbinEntrySize  = 64
	fatbinVersion    = 1

	fatbinPTX = 1
	fatbinELF = 2

	fatbinCompressed = 0x1000 | 0x2000 | 0x8000 // in three ways
	fatbinSpecific   = 1 << 20                  // sm_90a
	fatbinFamily     = 1 << 21                  // sm_100f
)

// checkFatbin reads all entries and holds their sizes against the length.
func checkFatbin(data []byte) ([]ImagePart, error) {
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

func fatbinEntries(body []byte) ([]ImagePart, error) {
	var parts []ImagePart
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

// fatbinEntry reads the first entry of body, and how long it is.
func fatbinEntry(body []byte) (ImagePart, uint64, error) {
	if len(body) < fatbinEntrySize {
		return ImagePart{}, 0, invalidf("%d bytes are left, less than its header: it is cut off or damaged", len(body))
	}
	header, size := uint64(le.Uint32(body[4:])), le.Uint64(body[8:])
	end := saturated(header, size)
	switch packed := uint64(le.Uint32(body[16:])); {
	case header < fatbinEntrySize:
		return ImagePart{}, 0, invalidf("it is damaged: a header of %d bytes", header)
	case end > uint64(len(body)):
		return ImagePart{}, 0, invalidf("it has %d bytes, but %d are left: it is cut off or damaged", end, len(body))
	case packed > size:
		return ImagePart{}, 0, invalidf("it is damaged: %d compressed bytes in %d", packed, size)
	}
	part, err := fatbinPart(body[:header], body[header:end])
	return part, end, err
}

// fatbinPart is what an entry holds; kinds that no device executes, such as the
// input of link-time optimisation, are not parts. What is not compressed is
// checked like an image of its own.
func fatbinPart(header, data []byte) (ImagePart, error) {
	flags := le.Uint64(header[40:])
	p := ImagePart{Arch: archOf(le.Uint32(header[28:]), fatbinSuffix(flags)), Compressed: flags&fatbinCompressed != 0}
	switch le.Uint16(header) {
	case fatbinPTX:
		p.Kind = ImagePTX
		p.PTX.Minor, p.PTX.Major = int(le.Uint16(header[24:])), int(le.Uint16(header[26:]))
	case fatbinELF:
		p.Kind = ImageCubin
		if !p.Compressed {
			inner, err := checkCubin(data)
			p.Relocatable = inner.Relocatable
			return p, err
		}
	default:
		return ImagePart{}, nil
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
