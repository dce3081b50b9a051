package driver

// MayCall returns nil unless the caller is a host function, which may not call CUDA. It is for
// packages that make raw calls.
func MayCall() error { return notInCallback() }
