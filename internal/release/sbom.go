package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
)

// A component is one module (https://cyclonedx.org/docs/1.6/json/#components).
type component struct {
	Type    string     `json:"type"` // "application" or "library"
	Ref     string     `json:"bom-ref"`
	Name    string     `json:"name"`
	Version string     `json:"version"`
	Hashes  []hash     `json:"hashes,omitempty"`
	License []licenses `json:"licenses,omitempty"`
	PURL    string     `json:"purl"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"` // hexadecimal
}

type licenses struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn,omitempty"`
}

type bom struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

// sbom returns the bill of materials of a program, in CycloneDX 1.6: the program with its sum, each module that the linker names with the
// sum that go.sum has of it, and the standard library. Which module needs which is not in a binary: all are below the program.
func sbom(b *binary) ([]byte, error) {
	sum := sha256.Sum256(b.data)
	main := component{
		Type: "application", Name: b.info.Main.Path, Version: b.info.Main.Version,
		PURL:   purl(b.info.Main.Path, b.info.Main.Version) + "?goos=" + b.goos + "&goarch=" + b.goarch,
		Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", sum)}}, License: make([]licenses, 1),
	}
	main.License[0].License.ID = "Apache-2.0"
	main.Ref = main.PURL
	list := bom{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Serial:   serial(sum),
		Metadata: metadata{b.setting("vcs.time"), main},
	}
	modules := append([]*debug.Module{{Path: "std", Version: strings.TrimPrefix(b.info.GoVersion, "go")}}, b.info.Deps...)
	on := dependency{Ref: main.Ref}
	for _, m := range modules {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version)}
		c.Ref = c.PURL
		if text, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
			raw, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return nil, fmt.Errorf("the sum of %s is %q: %w", m.Path, m.Sum, err)
			}
			c.Hashes = []hash{{"SHA-256", fmt.Sprintf("%x", raw)}}
		}
		list.Components = append(list.Components, c)
		on.On = append(on.On, c.Ref)
	}
	list.Dependencies = []dependency{on}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(list)
	return out.Bytes(), err
}

// serial returns a UUID of version 8 (RFC 9562, 5.8), the same for the same binary.
func serial(sum [sha256.Size]byte) string {
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// purl returns a module's package URL (https://github.com/package-url/purl-spec, type golang).
func purl(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")
}
