// Package layers tests which packages of the module may import which, with and
// without their tests.
package layers
