package kernelstest

import (
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

// Drivers since CUDA 11.4 must accept every file without a suffix in its name, even for
// old devices. A variant for sm_90 is never loaded by a driver that does not support sm_90.
func TestEveryTextIsForOldDriversToo(t *testing.T) {
	for name, text := range files(t) {
		newest, target := ptx.Version{Major: 7, Minor: 0}, "sm_52"
		base, variant, _ := strings.Cut(name, ".")
		switch base = strings.TrimSuffix(base, "_gpu"); {
		case variant == "sm_90.ptx", strings.HasSuffix(base, "sm90"): // only drivers since CUDA 11.8 support such devices
			newest, target = ptx.Version{Major: 7, Minor: 8}, "sm_90"
		case strings.HasSuffix(base, "sm80"):
			newest, target = ptx.Version{Major: 7, Minor: 4}, "sm_80" // that of CUDA 11.4
		}
		m, err := ptx.Parse(name, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if (m.Version != newest && m.Version.AtLeast(newest.Major, newest.Minor)) || !slices.Equal(m.Targets, []string{target}) {
			t.Errorf("%s is PTX %v for %v, want at most %v for %s", name, m.Version, m.Targets, newest, target)
		}
	}
}
