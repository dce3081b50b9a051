package gen

// plainName is the name that a kernel has in its source: that of a mangled C++
// name, without its arguments.
func plainName(name string) string { return name }
