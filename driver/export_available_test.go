package driver

// Usable is what Available finds out about a driver.
func Usable(d *Driver) error { return usable(d) }
