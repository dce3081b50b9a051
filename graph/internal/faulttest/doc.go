// Package faulttest tests that package graph survives the failure of each driver call: nothing may
// leak, and no stream may still be capturing.
package faulttest
