package small

// OnWindows exists only on Windows.
func OnWindows(handles ...uintptr) {}
