// Package sub is a second file.
package sub

var Sub int
