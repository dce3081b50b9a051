package kernelfault

// SetFlush replaces the function that flushes C's standard output. It returns a function that
// restores it.
func SetFlush(f func() error) (restore func()) {
	old := flush
	flush = f
	return func() { flush = old }
}
