package profile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// bearerKey is the variable for a key of Bedrock's own. AWS's libraries for Python, Go, C++ and Kotlin send it over TLS only, on loopback
// too (read in botocore 1.44.8, smithy-go, aws-sdk-cpp and smithy-kotlin, 2026-11-27); those for JavaScript, Java and Rust send it anyway.
const bearerKey = "AWS_BEARER_TOKEN_BEDROCK"

// nodeAuthorities is the variable for a file of authorities that Node and Bun trust beside their own.
const nodeAuthorities = "NODE_EXTRA_CA_CERTS"

// systemRoots are the files in which systems keep the certificates that they trust.
var systemRoots = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Arch
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Fedora
	"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora before 43, RHEL
	"/etc/ssl/ca-bundle.pem",                            // openSUSE
	"/etc/ssl/cert.pem",                                 // Alpine, macOS
}

// maxRoots bounds a file of certificates; all public authorities together take 250 KiB.
const maxRoots = 4 << 20

// asksCloud reports whether a cloud is the agent's provider according to its environment; a key or an address alone may be there for
// something else. configured is the value of LLM_PROVIDER for it.
func (w *planner) asksCloud(provider, configured string) bool {
	return w.agent.Clouds || w.get("LLM_PROVIDER") == configured ||
		slices.ContainsFunc(w.out.Upstreams, func(u Upstream) bool { return u.Provider == provider })
}

// secureRoot returns the proxy's address with TLS, "" if there is none or the trusted certificates cannot be read, which is noted. The first time
// it also makes the child trust the proxy's certificate authority, in addition to all that it trusts already.
func (w *planner) secureRoot() string {
	if w.in.Secure == nil || w.in.Folder == "" || w.insecure || w.secure != "" {
		return w.secure
	}
	names, aws := []string{"AWS_CA_BUNDLE", "SSL_CERT_FILE", nodeAuthorities}, w.firstSet("AWS_CA_BUNDLE")
	if aws == "" {
		aws = w.awsBundle()
	}
	trusted := make([][]byte, len(names))
	for i, file := range []string{aws, w.get("SSL_CERT_FILE"), w.get(nodeAuthorities)} {
		var err error
		if file != "" {
			if trusted[i], err = w.readUpTo(w.absolute(file), maxRoots); err == nil && trusted[i] == nil {
				err = fmt.Errorf("there is no file %s", file)
			}
		} else if names[i] != nodeAuthorities {
			trusted[i], err = w.systemCertificates()
		}
		if err != nil {
			return w.noTLS(fmt.Errorf("%s would have to hold what is trusted now and the proxy's certificate, and %w", names[i], err))
		}
	}
	root, authority, err := w.in.Secure()
	if err != nil {
		return w.noTLS(err)
	}
	w.secure = root
	for i, name := range names {
		file := File{Path: filepath.Join(w.in.Folder, strings.ToLower(name)+".pem"), Body: slices.Concat(trusted[i], []byte("\n"), authority)}
		w.out.Files = append(w.out.Files, file)
		w.set(name, file.Path)
	}
	return root
}

// noTLS notes that what goes by TLS only goes around the proxy, so that secureRoot does not try again, and returns "".
func (w *planner) noTLS(err error) string {
	w.insecure = true
	w.note("what libraries send to Bedrock or Azure by TLS only goes around the proxy: %v", err)
	return ""
}

// systemCertificates returns the certificates that the system trusts, in PEM. It is an error if it has no file of them.
func (w *planner) systemCertificates() ([]byte, error) {
	for _, name := range systemRoots {
		if text, err := w.readUpTo(name, maxRoots); err == nil && len(text) > 0 {
			return text, nil
		}
	}
	return nil, fmt.Errorf("this system has no file of the certificates that it trusts")
}

// awsBundle returns the file of certificates that AWS's own settings name, or that its library for Python uses, if AWS_CA_BUNDLE is not
// set; "" if there is none.
func (w *planner) awsBundle() string {
	name := w.get("AWS_CONFIG_FILE")
	if name == "" {
		name = filepath.Join(w.home, ".aws", "config")
	}
	section := "profile " + w.firstSet("AWS_PROFILE", "AWS_DEFAULT_PROFILE")
	if section == "profile " || section == "profile default" {
		section = "default"
	}
	text, _ := w.read(name)
	inside := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			inside = strings.Join(strings.Fields(strings.Trim(line, "[]")), " ") == section
		} else if key, value, ok := strings.Cut(line, "="); ok && inside && strings.TrimSpace(key) == "ca_bundle" {
			return strings.TrimSpace(value)
		}
	}
	return w.get("REQUESTS_CA_BUNDLE")
}

// absolute returns the absolute path of a file as the child would find it.
func (w *planner) absolute(file string) string {
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		return filepath.Join(w.home, rest)
	}
	if !filepath.IsAbs(file) {
		return filepath.Join(w.in.Dir, file)
	}
	return file
}
