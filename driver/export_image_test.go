package driver

// ImageEnd is where an image says that it ends.
func ImageEnd(data []byte) uint64 {
	img, err := newImage(data)
	switch {
	case err != nil || img.format == formatPTX:
		return 0
	case img.format == formatCubin:
		return elfSize(data)
	}
	return saturated(uint64(le.Uint16(data[6:])), le.Uint64(data[8:]))
}
