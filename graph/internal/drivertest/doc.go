// Package drivertest tests package graph from outside: older drivers, several devices
// and contexts, and external semaphores.
package drivertest
