// Package internal contains the PTX files of all families of kernels. Each family is a package in a
// folder below, with the source of its kernels in Go. Package kernels imports those packages, so that
// a program contains only the families that it uses.
package internal

import "embed"

// Texts contains the PTX files of all families.
//
//go:embed */*_gpu*.ptx
var Texts embed.FS
