package loader_test

import (
	"testing"

	"github.com/purecuda/cuda/loader"
)

func TestSecureEnvIsTheEnvironmentOfAnOrdinaryProcess(t *testing.T) {
	t.Setenv("PURECUDA_TEST_VARIABLE", "value")
	if got := loader.SecureEnv("PURECUDA_TEST_VARIABLE"); got != "value" {
		t.Errorf("SecureEnv is %q, want value", got)
	}
	if got := loader.SecureEnv("PURECUDA_TEST_NOTHING"); got != "" {
		t.Errorf("SecureEnv of a variable that is not set is %q", got)
	}
}
