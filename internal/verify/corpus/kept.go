package corpus

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

//go:embed testdata/h200-results.json
var h200Results []byte

// Kept holds the recorded results of the kernels on a device.
type Kept struct {
	Device string
	CUDA   int // CUDA version of the driver: 13000 for CUDA 13.0
	// Sources maps a source and a step to results. Builds with the same result share one entry.
	Sources map[string]map[string][]*KeptResult
}

// KeptResult is a recorded result and the builds that produced it.
type KeptResult struct {
	Builds  []string
	Outputs []KeptOutput
}

// KeptOutput is the recorded digest of an output. Data contains bytes of an output that the launch
// changed. If the output has a tolerance, Data contains its first keptBytes bytes. Otherwise Data
// contains all bytes of the output, but only if there are at most fewBytes of them.
type KeptOutput struct {
	Name   string
	Digest string `json:",omitempty"` // empty if the contents differ between runs
	Data   []byte `json:",omitempty"`
}

const (
	keptBytes = 1024 // recorded bytes of an output with a tolerance
	fewBytes  = 64   // largest size of another output that is recorded completely
)

// H200 returns the recorded results of an H200 with driver 580.
func H200() (*Kept, error) {
	k := new(Kept)
	return k, json.Unmarshal(h200Results, k)
}

// Add adds the results that a source produced in one build.
func (k *Kept) Add(src *Source, b Build, results []Result) {
	if k.Sources == nil {
		k.Sources = make(map[string]map[string][]*KeptResult)
	}
	steps := k.Sources[src.Name]
	if steps == nil {
		steps = make(map[string][]*KeptResult)
		k.Sources[src.Name] = steps
	}
	for _, r := range results {
		steps[r.Step] = addResult(steps[r.Step], b, r.keep(src))
	}
}

func addResult(list []*KeptResult, b Build, outputs []KeptOutput) []*KeptResult {
	for _, r := range list {
		if slices.EqualFunc(r.Outputs, outputs, sameOutput) {
			r.Builds = append(r.Builds, b.Name)
			return list
		}
	}
	return append(list, &KeptResult{Builds: []string{b.Name}, Outputs: outputs})
}

func sameOutput(a, b KeptOutput) bool { return a.Name == b.Name && a.Digest == b.Digest }

func (r *Result) keep(src *Source) []KeptOutput {
	var all []KeptOutput
	for _, o := range r.Outputs {
		k := KeptOutput{Name: o.Arg.Name}
		if !o.Arg.Varies {
			k.Digest = digest(o.Bytes)
		}
		if k.Digest != "" && o.changed(src, r.Step) {
			k.Data = o.some()
		}
		all = append(all, k)
	}
	return all
}

func (o *Output) changed(src *Source, step string) bool {
	return o.Arg.Fill.Kind == "" || !bytes.Equal(o.Bytes, o.Arg.bytes(src.Name+"/"+step))
}

func (o *Output) some() []byte {
	switch {
	case o.Arg.Tol > 0:
		return o.Bytes[:min(len(o.Bytes), keptBytes)]
	case len(o.Bytes) <= fewBytes:
		return o.Bytes
	}
	return nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// Compare returns an error that describes how the results of a source differ from the recorded
// ones, or nil if they match.
func (k *Kept) Compare(src *Source, b Build, results []Result) error {
	for _, r := range results {
		kept := k.find(src.Name, r.Step, b.Name)
		if kept == nil {
			return fmt.Errorf("%s: nothing was kept to compare with", r.Step)
		}
		if err := r.compare(kept); err != nil {
			return fmt.Errorf("%s: %w", r.Step, err)
		}
	}
	return nil
}

func (k *Kept) find(source, step, build string) *KeptResult {
	for _, r := range k.Sources[source][step] {
		if slices.Contains(r.Builds, build) {
			return r
		}
	}
	return nil
}

func (r *Result) compare(kept *KeptResult) error {
	if len(kept.Outputs) != len(r.Outputs) {
		return fmt.Errorf("%d outputs, %d were kept", len(r.Outputs), len(kept.Outputs))
	}
	for i := range r.Outputs {
		if err := r.Outputs[i].compare(&kept.Outputs[i]); err != nil {
			return fmt.Errorf("%s: %w", kept.Outputs[i].Name, err)
		}
	}
	return nil
}

func (o *Output) compare(kept *KeptOutput) error {
	if o.Arg.Varies || digest(o.Bytes) == kept.Digest {
		return nil
	}
	size := o.Arg.Type.Size
	for i := 0; i+size <= len(kept.Data); i += size {
		if err := o.Arg.near(o.Bytes[i:], kept.Data[i:]); err != nil {
			return fmt.Errorf("element %d: %w", i/size, err)
		}
	}
	if o.Arg.Tol > 0 && len(kept.Data) > 0 {
		return nil
	}
	return fmt.Errorf("digest %s, %s was kept", digest(o.Bytes), kept.Digest)
}

// near returns an error if two elements differ. Floats may differ by the argument's tolerance, and
// all NaNs count as equal.
func (a *Arg) near(got, want []byte) error {
	if a.Type.bits(got) == a.Type.bits(want) {
		return nil
	}
	if !a.Type.IsFloat() {
		return fmt.Errorf("%#x, not %#x", a.Type.bits(got), a.Type.bits(want))
	}
	g, w := a.Type.float(got), a.Type.float(want)
	if math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= a.Tol*max(math.Abs(g), math.Abs(w), 1e-30) {
		return nil
	}
	return fmt.Errorf("%v, not %v", g, w)
}

// Same returns an error if the results of two runs of one source differ in any bit, except in
// outputs that vary.
func Same(a, b []Result) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d results and %d", len(a), len(b))
	}
	for i := range a {
		for j, o := range a[i].Outputs {
			other := b[i].Outputs[j]
			if !o.Arg.Varies && !bytes.Equal(o.Bytes, other.Bytes) {
				return fmt.Errorf("%s: %s: %s and %s", a[i].Step, o.Arg.Name, digest(o.Bytes), digest(other.Bytes))
			}
		}
	}
	return nil
}
