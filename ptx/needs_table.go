package ptx

import "strings"

// release is a PTX ISA version and the CUDA version of the first driver that accepts
// it, in cuDriverGetVersion's format.
type release struct {
	ptx  Version
	cuda int
}

// releases follows the PTX ISA's "Release History", newest first. That list lacks 5.1,
// which ptxas accepts. CUDA 12.6 has no entry because it still has PTX ISA 8.5.
var releases = []release{
	{Version{9, 4}, 13040}, {Version{9, 3}, 13030}, {Version{9, 2}, 13020}, {Version{9, 1}, 13010}, {Version{9, 0}, 13000},
	{Version{8, 8}, 12090}, {Version{8, 7}, 12080}, {Version{8, 6}, 12070}, {Version{8, 5}, 12050}, {Version{8, 4}, 12040},
	{Version{8, 3}, 12030}, {Version{8, 2}, 12020}, {Version{8, 1}, 12010}, {Version{8, 0}, 12000},
	{Version{7, 8}, 11080}, {Version{7, 7}, 11070}, {Version{7, 6}, 11060}, {Version{7, 5}, 11050}, {Version{7, 4}, 11040},
	{Version{7, 3}, 11030}, {Version{7, 2}, 11020}, {Version{7, 1}, 11010}, {Version{7, 0}, 11000},
	{Version{6, 5}, 10020}, {Version{6, 4}, 10010}, {Version{6, 3}, 10000},
	{Version{6, 2}, 9020}, {Version{6, 1}, 9010}, {Version{6, 0}, 9000}, {Version{5, 1}, 9000},
	{Version{5, 0}, 8000}, {Version{4, 3}, 7050}, {Version{4, 2}, 7000}, {Version{4, 1}, 6050}, {Version{4, 0}, 6000},
	{Version{3, 2}, 5050}, {Version{3, 1}, 5000}, {Version{3, 0}, 4010},
	{Version{2, 3}, 4000}, {Version{2, 2}, 3020}, {Version{2, 1}, 3010}, {Version{2, 0}, 3000},
	{Version{1, 5}, 3000}, {Version{1, 4}, 2020}, {Version{1, 3}, 2010}, {Version{1, 2}, 2000}, {Version{1, 1}, 1010}, {Version{1, 0}, 1000},
}

// firstVersions maps each target to the oldest PTX ISA version that includes the target. Up to
// sm_72, that is the oldest version that ptxas 11.8 accepts. From sm_75 on, it is the oldest for
// ptxas 13.0. Later targets follow ".target" in the PTX ISA. Driver 580 agrees: see
// testdata/headers-580.txt.
var firstVersions = map[string]Version{
	"10": {1, 0}, "11": {1, 0}, "12": {1, 2}, "13": {1, 2}, "20": {2, 0}, "21": {2, 0},
	"30": {3, 0}, "32": {4, 0}, "35": {3, 1}, "37": {4, 1}, "50": {4, 0}, "52": {4, 1}, "53": {4, 2},
	"60": {5, 0}, "61": {5, 0}, "62": {5, 0}, "70": {5, 1}, "72": {6, 1}, "75": {6, 3},
	"80": {7, 0}, "86": {7, 1}, "87": {7, 4}, "88": {7, 4}, "89": {7, 8}, "90": {7, 8}, "90a": {8, 0},
	"100": {8, 6}, "100a": {8, 6}, "100f": {8, 8}, "101": {8, 6}, "101a": {8, 6}, "101f": {8, 8},
	"103": {8, 8}, "103a": {8, 8}, "103f": {8, 8}, "107": {9, 4}, "107a": {9, 4}, "107f": {9, 4},
	"110": {9, 0}, "110a": {9, 0}, "110f": {9, 0},
	"120": {8, 7}, "120a": {8, 7}, "120f": {8, 8}, "121": {8, 8}, "121a": {8, 8}, "121f": {8, 8},
}

// Since returns the PTX ISA version that introduced the target. It returns false for a
// target unknown to this package.
func (t Target) Since() (Version, bool) {
	name, ok := strings.CutPrefix(Target{Major: t.Major, Minor: t.Minor, Scope: t.Scope}.String(), "sm_")
	if !ok {
		return Version{}, false
	}
	v, ok := firstVersions[name]
	return v, ok
}

// CUDA returns the CUDA version of the first driver that accepts PTX version v, in
// cuDriverGetVersion's format (12040 for 12.4). It returns false for a version unknown to
// this package.
func (v Version) CUDA() (int, bool) {
	for _, r := range releases {
		if r.ptx == v {
			return r.cuda, true
		}
	}
	return 0, false
}

// NewestFor returns the newest PTX ISA version that a driver accepts, given the driver's
// CUDA version (13000 for 13.0). It returns false for a driver newer or older than this
// package's table.
func NewestFor(cuda int) (Version, bool) {
	if cuda/10 > releases[0].cuda/10 {
		return releases[0].ptx, false
	}
	for _, r := range releases {
		if cuda >= r.cuda {
			return r.ptx, true
		}
	}
	return Version{}, false
}

func (v Version) less(w Version) bool { return !v.AtLeast(w.Major, w.Minor) }
