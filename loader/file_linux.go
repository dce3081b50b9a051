package loader

// FileOf returns the path of the file that holds a C function, with symbolic links resolved, or
// "" if it cannot be determined. It shows where a library was found that was opened by name
// alone.
func FileOf(p Proc) string {
	if p.addr == 0 {
		return ""
	}
	return mappedFile(p.addr)
}
