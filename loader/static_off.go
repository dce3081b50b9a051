//go:build !static

package loader

const staticBuild = false
