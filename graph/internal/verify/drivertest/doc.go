// Package drivertest tests package graph with older drivers, several devices and contexts, and
// external semaphores.
package drivertest
