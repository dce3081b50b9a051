//go:build static

package loader

const staticBuild = true
