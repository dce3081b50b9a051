package irtest

var almostOne = 1 + 0x1p-30 // its square needs more bits than a float64 has

// HostFuses reports whether Go rounds x*y + z only once on this processor, as it does on arm64. Results of Go functions
// then differ from those of devices in the last bits, unless the function converts each product.
func HostFuses() bool { return almostOne*almostOne-1 != float64(almostOne*almostOne)-1 }
