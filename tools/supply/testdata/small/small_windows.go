package small

// OnWindows is there on Windows only.
func OnWindows(handles ...uintptr) {}
