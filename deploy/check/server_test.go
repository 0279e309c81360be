package check

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	apiv0 "github.com/modelcontextprotocol/registry/pkg/api/v0"
	"github.com/modelcontextprotocol/registry/pkg/model"
)

const serverFile = "../../server.json"

// schemaOf reads the registry's schema of that version, from the registry's own module.
func schemaOf(t *testing.T, version string) *jsonschema.Resolved {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/registry").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "internal", "validators", "schemas", version+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func valueOf(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// server.json follows the schema that it names, which is the registry's current one, and has no field that the registry does not know.
func TestServerJSON(t *testing.T) {
	text, err := os.ReadFile(serverFile)
	if err != nil {
		t.Fatal(err)
	}
	schema := schemaOf(t, "2025-12-11")
	if err := schema.Validate(valueOf(t, text)); err != nil {
		t.Error(err)
	}
	for field, value := range map[string]any{"name": "plimsoll", "description": strings.Repeat("x", 101), "version": nil, "packages": []any{map[string]any{}}} {
		wrong := valueOf(t, text)
		if wrong[field] = value; value == nil {
			delete(wrong, field)
		}
		if schema.Validate(wrong) == nil {
			t.Errorf("the schema takes %s = %v: this test holds nothing", field, value)
		}
	}
	var server apiv0.ServerJSON
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&server); err != nil {
		t.Fatal(err)
	}
	if server.Schema != model.CurrentSchemaURL {
		t.Errorf("the schema is %s, the registry's is %s", server.Schema, model.CurrentSchemaURL)
	}
	// The registry lets who is plimsoll on GitHub write below io.github.plimsoll; an image belongs to a server whose name is in its
	// label io.modelcontextprotocol.server.name.
	if server.Name != "io.github.plimsoll/plimsoll" || len(server.Packages) == 0 {
		t.Errorf("%+v", server)
	}
	image, err := os.ReadFile("../../internal/release/packages/image.go")
	if err != nil || !bytes.Contains(image, []byte(`"io.modelcontextprotocol.server.name": "`+server.Name+`"`)) {
		t.Errorf("the image has not the label by which it belongs to %s: %v", server.Name, err)
	}
	if u, err := url.Parse(server.Repository.URL); err != nil || u.Host != "github.com" || u.Path != "/plimsoll/plimsoll" {
		t.Errorf("%+v", server.Repository)
	}
}

// What the registry's clients start is a command that there is.
func TestServerJSONStartsACommand(t *testing.T) {
	text, err := os.ReadFile(serverFile)
	if err != nil {
		t.Fatal(err)
	}
	var server apiv0.ServerJSON
	if err := json.Unmarshal(text, &server); err != nil {
		t.Fatal(err)
	}
	for _, p := range server.Packages {
		args := []string{"run", "./cmd/plimsoll"}
		for _, a := range p.PackageArguments {
			args = append(args, a.Value)
		}
		cmd := exec.CommandContext(t.Context(), "go", append(args, "--list-tools")...)
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("argocd_")) && !bytes.Contains(out, []byte("application")) {
			t.Errorf("%v: %v: %s", cmd.Args, err, out)
		}
		documented, err := os.ReadFile("../../docs/argocd.md")
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range p.EnvironmentVariables {
			if !bytes.Contains(documented, []byte(v.Name)) {
				t.Errorf("docs/argocd.md does not know the variable %s", v.Name)
			}
		}
	}
}
