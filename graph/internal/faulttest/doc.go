// Package faulttest tests package graph from outside: each call of the driver may
// fail, and nothing may be lost or left in a capture then.
package faulttest
