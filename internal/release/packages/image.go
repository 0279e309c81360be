package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	// user runs the program in the container, as in the images of distroless and ko: it is nobody's number on a host.
	user = 65532
	// maxImage is the most that one platform's layers may weigh, compressed, in bytes.
	maxImage = 25_000_000
	state    = "/var/lib/plimsoll"
)

// An image is the archive of it and what is told of it.
type image struct {
	name  string
	data  []byte
	about []string
}

// imageOf makes one image for all processors, as an OCI layout in a tar (https://github.com/opencontainers/image-spec/blob/main/image-layout.md).
// manifest.json in it is what Docker before 25 reads: an image for each processor, with its name in the tag.
func imageOf(s source) (*image, error) {
	made := &image{name: "plimsoll-" + s.version + "-image.tar"}
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var old []dockerImage
	for _, p := range s.programs {
		one, err := platformImage(s, p)
		if err != nil {
			return nil, err
		}
		size, described, err := describeImage(one, "plimsoll:"+s.version+"-"+p.arch)
		if err != nil {
			return nil, err
		}
		if size > maxImage {
			return nil, fmt.Errorf("for %s it has %.1f MB compressed, more than %d: look at what made the program larger", p.arch, float64(size)/1e6, maxImage/1_000_000)
		}
		old = append(old, described)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: one, Descriptor: v1.Descriptor{MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: "linux", Architecture: p.arch}},
		})
		made.about = append(made.about, fmt.Sprintf("image for linux/%s: %.1f MB compressed", p.arch, float64(size)/1e6))
	}
	index = mutate.Annotations(index, labels(s)).(v1.ImageIndex)
	digest, err := index.Digest()
	if err != nil {
		return nil, err
	}
	made.about = append(made.about, "image "+digest.String())
	dir, err := os.MkdirTemp("", "plimsoll-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	at, err := layout.Write(dir, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return nil, err
	}
	if err := at.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": s.version, "io.containerd.image.name": "docker.io/library/plimsoll:" + s.version,
	})); err != nil {
		return nil, err
	}
	list, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), list, 0o600); err != nil {
		return nil, err
	}
	made.data, err = tarOf(dir, s.changed)
	return made, err
}

// A dockerImage is an entry of manifest.json, as `docker save` writes it.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// describeImage returns the compressed size of an image in bytes, and its description for Docker.
func describeImage(one v1.Image, tag string) (int64, dockerImage, error) {
	blob := func(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
	m, err := one.Manifest()
	if err != nil {
		return 0, dockerImage{}, err
	}
	size, d := int64(0), dockerImage{blob(m.Config.Digest), []string{tag}, nil}
	for _, layer := range m.Layers {
		size += layer.Size
		d.Layers = append(d.Layers, blob(layer.Digest))
	}
	return size, d, nil
}

// platformImage returns the image for one processor. What rarely changes is the lower of its two layers.
func platformImage(s source, p program) (v1.Image, error) {
	below, err := layer(s.changed, []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nplimsoll:x:%d:%d:plimsoll:%s:/sbin/nologin\n", user, user, state)},
		{name: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\nplimsoll:x:%d:\n", user)},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: rootCertificates()},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/local/", mode: 0o755},
		{name: "usr/local/bin/", mode: 0o755},
		{name: "usr/local/bin/plimsoll", link: "/plimsoll"},
		{name: "var/", mode: 0o755},
		{name: "var/lib/", mode: 0o755},
		{name: state[1:] + "/", mode: 0o700, owner: user},
	})
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(filepath.Join(s.tree, "LICENSE"))
	if err != nil {
		return nil, err
	}
	notice, err := os.ReadFile(filepath.Join(s.tree, "NOTICE"))
	if err != nil {
		return nil, err
	}
	above, err := layer(s.changed, []entry{
		{name: "licenses/", mode: 0o755},
		{name: "licenses/LICENSE", mode: 0o644, data: licence},
		{name: "licenses/NOTICE", mode: 0o644, data: notice},
		{name: "plimsoll", mode: 0o755, data: p.data},
	})
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: s.changed}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	one, err := mutate.Append(base,
		mutate.Addendum{Layer: below, History: v1.History{Created: created, CreatedBy: "root certificates (golang.org/x/crypto/x509roots), user " + fmt.Sprint(user)}},
		mutate.Addendum{Layer: above, History: v1.History{Created: created, CreatedBy: "plimsoll " + s.version}})
	if err != nil {
		return nil, err
	}
	config, err := one.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", p.arch, created
	if p.arch == "arm64" {
		config.Variant = "v8"
	}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", user, user), Entrypoint: []string{"/plimsoll"}, Cmd: []string{"help"}, WorkingDir: state,
		Env: []string{
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + state,
			"SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt", "PLIMSOLL_STATE_DIR=" + state, "PLIMSOLL_CACHE_DIR=" + state + "/cache",
			"XDG_CONFIG_HOME=/etc", // settings are in /etc/plimsoll/config.toml
		},
		// So that there is a place to write also where the root file system is read-only.
		Volumes: map[string]struct{}{state: {}}, Labels: labels(s), StopSignal: "SIGTERM",
	}
	return mutate.ConfigFile(one, config)
}

// labels returns the annotations of https://github.com/opencontainers/image-spec/blob/main/annotations.md.
func labels(s source) map[string]string {
	l := map[string]string{
		"org.opencontainers.image.title": "plimsoll", "org.opencontainers.image.description": capital(summary),
		"org.opencontainers.image.url": homepage, "org.opencontainers.image.source": homepage,
		"org.opencontainers.image.documentation": homepage + "/blob/main/docs/containers.md",
		"org.opencontainers.image.vendor":        "Plimsoll", "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.version": s.version, "org.opencontainers.image.created": s.changed.Format(time.RFC3339),
		// By it the MCP registry knows that the image is that of server.json (its rules for packages of type oci).
		"io.modelcontextprotocol.server.name": "io.github.plimsoll/plimsoll",
	}
	if s.commit != "" {
		l["org.opencontainers.image.revision"] = s.commit
	}
	return l
}

// rootCertificates returns the certificate authorities that Mozilla's programs trust, as PEM. Those that are trusted only for certificates
// issued before a date are left out: a file of certificates cannot say that.
func rootCertificates() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // into memory
		}
	}
	return out.Bytes()
}

// An entry is a file, a folder (its name ends in a slash) or a link of a layer.
type entry struct {
	name  string
	data  []byte
	link  string
	mode  int64
	owner int
}

// layer returns a layer of an image with these files, all with the same time.
func layer(changed time.Time, entries []entry) (v1.Layer, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.data)), Mode: e.mode, Uid: e.owner, Gid: e.owner, ModTime: changed, Format: tar.FormatUSTAR,
		}
		switch {
		case e.link != "":
			h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, e.link, 0o777
		case e.name[len(e.name)-1] == '/':
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	raw := out.Bytes()
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9), tarball.WithCompressedCaching)
}

// tarOf packs a folder with fixed owners, modes, times and order; what readers want first comes first.
func tarOf(dir string, changed time.Time) ([]byte, error) {
	names := []string{"oci-layout", "index.json", "manifest.json"}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err == nil && !slices.Contains(names, filepath.ToSlash(rel)) {
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644, ModTime: changed, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(data); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}
