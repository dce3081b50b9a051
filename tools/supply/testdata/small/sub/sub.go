// Package sub is a second package.
package sub

var Sub int
