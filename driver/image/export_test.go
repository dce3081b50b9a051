package image

// End returns the end of the image according to its headers.
func End(data []byte) uint64 {
	kind, err := Check(data)
	switch {
	case err != nil || kind == PTX:
		return 0
	case kind == Cubin:
		return elfSize(data)
	}
	return saturated(uint64(le.Uint16(data[6:])), le.Uint64(data[8:]))
}
