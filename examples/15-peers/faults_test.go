package main

import (
	"testing"

	"github.com/purecuda/cuda/examples/internal/demotest"
)

func TestFaults(t *testing.T) { demotest.FaultsOn(t, 2, run) }
