//go:build !static

package driver

const floatABI = floatsInSlots
