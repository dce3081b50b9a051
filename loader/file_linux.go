package loader

// FileOf returns the path of the file that holds a C function, symbolic links
// resolved, or "" if that cannot be known. It tells where a library is that
// was found by its name alone.
func FileOf(p Proc) string {
	if p.addr == 0 {
		return ""
	}
	return mappedFile(p.addr)
}
