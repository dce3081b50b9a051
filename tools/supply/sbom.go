package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// spdx is the part of an SPDX 2.3 document (spdx.github.io/spdx-spec/v2.3) that this tool
// writes.
type spdx struct {
	Version       string         `json:"spdxVersion"`
	DataLicence   string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []spdxPackage  `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID        string     `json:"SPDXID"`
	Name      string     `json:"name"`
	Version   string     `json:"versionInfo,omitempty"`
	Location  string     `json:"downloadLocation"`
	Analyzed  bool       `json:"filesAnalyzed"`
	Concluded string     `json:"licenseConcluded"`
	Declared  string     `json:"licenseDeclared"`
	Copyright string     `json:"copyrightText"`
	Comment   string     `json:"comment,omitempty"`
	Refs      []external `json:"externalRefs,omitempty"`
}

type external struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// sbom prints a bill of materials. For the same module or programs and the same SOURCE_DATE_EPOCH,
// the output is always the same.
func sbom(o options) error {
	bill, err := newBill()
	if err != nil {
		return err
	}
	if len(o.args) == 0 {
		err = bill.library(o.root)
	}
	for _, program := range o.args {
		if err == nil {
			err = bill.program(o.root, program)
		}
	}
	if err != nil {
		return err
	}
	e := json.NewEncoder(o.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(bill.finish())
}

// ours is the module that this tool belongs to, and oursLicence is its licence.
const ours, oursLicence = "github.com/purecuda/cuda", "Apache-2.0"

type bill struct {
	spdx
	has map[string]bool
}

func newBill() (*bill, error) {
	seconds, err := strconv.ParseInt(cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), "0"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return &bill{has: make(map[string]bool), spdx: spdx{Version: "SPDX-2.3", DataLicence: "CC0-1.0", ID: "SPDXRef-DOCUMENT",
		Creation: creation{Created: time.Unix(seconds, 0).UTC().Format(time.RFC3339), Creators: []string{"Tool: github.com/purecuda/cuda/tools/supply"}}}}, nil
}

// library adds this module and the modules that its packages import.
func (b *bill) library(root string) error {
	version, err := command(root, nil, "git", "describe", "--tags", "--always")
	if err != nil {
		return fmt.Errorf("which version is it? %w", err)
	}
	main := b.add(spdxPackage{Name: ours, Version: strings.TrimSpace(string(version)), Declared: oursLicence})
	all, err := dependenciesOf(root, "programs", false)
	if err != nil {
		return err
	}
	for _, d := range all {
		b.depend(main, d)
	}
	return nil
}

// program adds a program, from the build information that the go command embedded in it.
func (b *bill) program(root, file string) error {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return err
	}
	version := versionOf(info)
	main := b.add(spdxPackage{Name: filepath.Base(file), Version: version, Comment: "built from " + info.Path + " for " + target(info)})
	std := strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go")
	b.relate(main, "CONTAINS", b.add(spdxPackage{Name: "std", Version: std, Declared: "BSD-3-Clause",
		Comment: "Go's standard library and runtime", Refs: purl("pkg:golang/std@" + std)}))
	if m := info.Main; m.Path != "" {
		p := spdxPackage{Name: m.Path, Version: version, Refs: purl("pkg:golang/" + m.Path + "@" + version)}
		if m.Path == ours {
			p.Declared = oursLicence
		}
		b.relate(main, "CONTAINS", b.add(p))
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		d, err := find(root, m)
		if err != nil {
			return err
		}
		b.depend(main, d)
	}
	return nil
}

// versionOf returns the version of a program's module. Without a version, it returns the commit
// from which the program was built, or "".
func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// target describes the platform, the cgo setting and the build tags of a program.
func target(info *debug.BuildInfo) string {
	set := make(map[string]string)
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	text := set["GOOS"] + "/" + set["GOARCH"] + ", CGO_ENABLED=" + set["CGO_ENABLED"]
	if set["-tags"] != "" {
		text += ", tags " + set["-tags"]
	}
	return text
}

// find returns a module with its licence, from the module cache.
func find(root string, m *debug.Module) (dependency, error) {
	d := dependency{module: module{Path: m.Path, Version: m.Version, Sum: m.Sum}}
	out, err := command(root, []string{"GOFLAGS=-mod=mod", "GOWORK=off"}, "go", "list", "-m", "-f", "{{.Dir}}", m.Path+"@"+m.Version)
	if err != nil {
		return d, err
	}
	d.Dir = strings.TrimSpace(string(out))
	return licensed(d.module, "")
}

func (b *bill) depend(on string, d dependency) {
	p := spdxPackage{Name: d.Path, Version: d.Version, Declared: d.licence, Refs: purl("pkg:golang/" + d.Path + "@" + d.Version)}
	if d.Sum != "" {
		p.Comment = "go.sum has " + d.Sum
	}
	b.relate(on, "DEPENDS_ON", b.add(p))
}

func purl(locator string) []external {
	return []external{{"PACKAGE-MANAGER", "purl", strings.TrimSuffix(locator, "@")}}
}

var notInIDs = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// add adds a package, unless it is already there, and returns its identifier.
func (b *bill) add(p spdxPackage) string {
	p.ID = "SPDXRef-" + notInIDs.ReplaceAllString(strings.TrimSuffix(p.Name+"-"+p.Version, "-"), "-")
	if b.has[p.ID] {
		return p.ID
	}
	b.has[p.ID] = true
	p.Location, p.Copyright = "NOASSERTION", "NOASSERTION"
	p.Declared = cmp.Or(p.Declared, "NOASSERTION")
	p.Concluded = p.Declared
	b.Packages = append(b.Packages, p)
	return p.ID
}

func (b *bill) relate(from, kind, to string) {
	b.Relationships = append(b.Relationships, relationship{from, kind, to})
}

// finish names the document after the first package. The document's namespace contains a hash of
// the contents, because namespaces must be unique.
func (b *bill) finish() spdx {
	first := b.Packages[0]
	b.Name = strings.TrimPrefix(first.ID, "SPDXRef-")
	b.Namespace = fmt.Sprintf("https://%s/sbom/%s-%x", ours, b.Name, sha256.Sum256(fmt.Append(nil, b.Creation, b.Packages)))
	b.relate(b.ID, "DESCRIBES", first.ID)
	return b.spdx
}
