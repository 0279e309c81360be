package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

const (
	homepage    = "https://github.com/plimsoll/plimsoll"
	description = "Runs any AI agent and keeps it inside its limits"
)

// manifests returns the formula of Homebrew (plimsoll.rb) and the manifest of Scoop (plimsoll.json) for what SHA256SUMS lists.
// A system that it does not list is in neither.
func manifests(version, sums string) map[string][]byte {
	sumOf := map[string]string{}
	for line := range strings.Lines(sums) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sumOf[name] = sum
	}
	address := func(name string) string { return homepage + "/releases/download/v" + version + "/" + name }
	return map[string][]byte{"plimsoll.rb": formula(version, sumOf, address), "plimsoll.json": scoop(version, sumOf, address)}
}

// formula follows https://docs.brew.sh/Formula-Cookbook.
func formula(version string, sumOf map[string]string, address func(string) string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "class Plimsoll < Formula\n  desc %q\n  homepage %q\n  version %q\n  license \"Apache-2.0\"\n", description, homepage, version)
	for _, system := range [][2]string{{"macos", "darwin"}, {"linux", "linux"}} {
		fmt.Fprintf(&b, "\n  on_%s do\n", system[0])
		for _, processor := range [][2]string{{"arm", "arm64"}, {"intel", "amd64"}} {
			name := "plimsoll-" + version + "-" + system[1] + "-" + processor[1] + ".tar.gz"
			if sum, ok := sumOf[name]; ok {
				fmt.Fprintf(&b, "    on_%s do\n      url %q\n      sha256 %q\n    end\n", processor[0], address(name), sum)
			}
		}
		b.WriteString("  end\n")
	}
	b.WriteString(`
  def install
    bin.install "plimsoll"
    man1.install "man/plimsoll.1"
    bash_completion.install "completions/plimsoll.bash" => "plimsoll"
    zsh_completion.install "completions/_plimsoll"
    fish_completion.install "completions/plimsoll.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/plimsoll version")
  end
end
`)
	return []byte(b.String())
}

// scoop follows https://github.com/ScoopInstaller/Scoop/wiki/App-Manifests.
func scoop(version string, sumOf map[string]string, address func(string) string) []byte {
	type download struct {
		URL    string `json:"url"`
		Hash   string `json:"hash"`
		Folder string `json:"extract_dir"`
	}
	m := struct {
		Version      string              `json:"version"`
		Description  string              `json:"description"`
		Homepage     string              `json:"homepage"`
		License      string              `json:"license"`
		Architecture map[string]download `json:"architecture"`
		Bin          string              `json:"bin"`
	}{version, description, homepage, "Apache-2.0", map[string]download{}, "plimsoll.exe"}
	for theirs, ours := range map[string]string{"64bit": "amd64", "arm64": "arm64"} {
		folder := "plimsoll-" + version + "-windows-" + ours
		if sum, ok := sumOf[folder+".zip"]; ok {
			m.Architecture[theirs] = download{address(folder + ".zip"), sum, folder}
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	_ = enc.Encode(m) // strings only
	return out.Bytes()
}
