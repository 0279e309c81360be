package redact

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// planted is what no output may hold. It has the shape of nothing.
const planted = "hunter2PLANTED"

// Each holds the planted secret once or more, at a place where it must be masked.
var hiding = map[string]string{
	"secret, kind last":      `{"apiVersion":"v1","data":{"a":"hunter2PLANTED","b":{"c":["hunter2PLANTED"]}},"stringData":{"x":"hunter2PLANTED"},"kind":"Secret"}`,
	"secret in a list":       `{"kind":"SecretList","items":[{"data":{"a":"hunter2PLANTED"}},{"stringData":{"a":"hunter2PLANTED"}}]}`,
	"escaped kind":           `{"kind":"Secr\u0065t","d\u0061ta":{"a":"hunter2PLANTED"}}`,
	"secret's annotations":   `{"kind":"Secret","metadata":{"annotations":{"objectset.rio.cattle.io/applied":"hunter2PLANTED"}}}`,
	"last-applied":           `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"kind\":\"Secret\",\"data\":{\"a\":\"hunter2PLANTED\"}}\n"}}}`,
	"other annotation":       `{"metadata":{"annotations":{"example.net/original":"{\"data\":{\"a\":\"hunter2PLANTED\"},\"kind\":\"Secret\"}"}}}`,
	"cut annotation":         `{"metadata":{"annotations":{"x":"{\"kind\":\"Secret\",\"data\":{\"a\":\"hunter2PLANTED\""}}}`,
	"yaml manifest":          `{"manifest":"apiVersion: v1\nkind: Secret\ndata:\n  a: hunter2PLANTED\n"}`,
	"live state":             `{"kind":"Secret","liveState":"{\"kind\":\"Secret\",\"data\":{\"a\":\"hunter2PLANTED\"}}"}`,
	"deep in texts":          deepText(6),
	"cluster":                `{"server":"https://x","config":{"username":"u","password":"hunter2PLANTED","bearerToken":"hunter2PLANTED","tlsClientConfig":{"caData":"hunter2PLANTED","certData":"hunter2PLANTED","keyData":"hunter2PLANTED"},"proxyUrl":"http://u:hunter2PLANTED@proxy:3128"}}`,
	"exec provider":          `{"config":{"execProviderConfig":{"command":"aws","args":["--token","hunter2PLANTED","--password=hunter2PLANTED"],"env":{"PATH":"hunter2PLANTED"}}}}`,
	"exec provider, list":    `{"execProviderConfig":{"env":[{"name":"PATH","value":"hunter2PLANTED"}]}}`,
	"repository":             `{"repo":"https://u:hunter2PLANTED@git/x","password":"hunter2PLANTED","sshPrivateKey":"hunter2PLANTED","tlsClientCertKey":"hunter2PLANTED","githubAppPrivateKey":"hunter2PLANTED","gcpServiceAccountKey":"hunter2PLANTED","bearerToken":"hunter2PLANTED","azureServicePrincipalClientSecret":"hunter2PLANTED","proxy":"socks5://u:hunter2PLANTED@p"}`,
	"helm parameter":         `{"helm":{"parameters":[{"name":"db.password","value":"hunter2PLANTED"},{"value":"hunter2PLANTED","name":"redis.encryption_key"}]}}`,
	"environment":            `{"env":[{"name":"GITHUB_TOKEN","value":"hunter2PLANTED"},{"name":"API_KEY","value":"hunter2PLANTED"},{"name":"AWS_ACCESS_KEY_ID","value":"hunter2PLANTED"}]}`,
	"plugin parameter":       `{"plugin":{"parameters":[{"name":"secrets","array":["hunter2PLANTED"]},{"name":"credentials","map":{"a":"hunter2PLANTED"}}]}}`,
	"values object":          `{"valuesObject":{"adminPassword":"hunter2PLANTED","dbpassword":"hunter2PLANTED","clientSecret":"hunter2PLANTED","tokens":["hunter2PLANTED"],"secrets":{"db":"hunter2PLANTED"},"auth":{"rootPassword":"hunter2PLANTED"}}}`,
	"values":                 `{"helm":{"values":"auth:\n  password: hunter2PLANTED\n  # c\nenv:\n  - name: DB_PASSWORD\n    value: \"hunter2PLANTED\"\ntls.key: |\n  hunter2PLANTED\n\n  hunter2PLANTED\nsecrets:\n  db: hunter2PLANTED\nreplicas: 3\n"}}`,
	"url without password":   `{"repoURL":"https://hunter2PLANTED@git.example.net/x"}`,
	"password with a slash":  `{"repoURL":"https://ci:hunter/hunter2PLANTED@git.example.net/x"}`,
	"password with an at":    `{"repoURL":"https://ci:a@hunter2PLANTED@git.example.net/x"}`,
	"message":                `{"message":"cannot log in with Bearer hunter2PLANTEDhunter2 at https://x"}`,
	"arguments":              `{"args":["--db-password","hunter2PLANTED"],"command":["sh","-c","PGPASSWORD=hunter2PLANTED psql"]}`,
	"docker":                 `{"auths":{"reg":{"auth":"hunter2PLANTED","username":"u"}}}`,
	"private key":            `{"x":"-----BEGIN RSA PRIVATE KEY-----\nhunter2PLANTED\n-----END RSA PRIVATE KEY-----"}`,
	"private key, cut":       `{"x":"-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2PLANTED"}`,
	"header":                 `{"headers":{"Authorization":"Basic hunter2PLANTED"}}`,
	"quoted in text":         `{"message":"request {\"password\":\"hunter2PLANTED\", failed"}`,
	"query":                  `{"url":"https://x/y?access_token=hunter2PLANTED&z=1"}`,
	"number":                 `{"a":"x","password":"hunter2PLANTED"}`,
	"duplicate keys":         `{"kind":"Secret","kind":"ConfigMap","data":{"a":"hunter2PLANTED"},"data":{"a":"hunter2PLANTED"}}`,
	"manifests of operation": `{"operation":{"sync":{"manifests":["{\"kind\":\"Secret\",\"stringData\":{\"a\":\"hunter2PLANTED\"}}"]}}}`,
}

// deepText is a Secret in a text in JSON in a text in …
func deepText(depth int) string {
	doc := `{"kind":"Secret","data":{"a":"` + planted + `"}}`
	for range depth {
		inner, err := json.Marshal(doc)
		if err != nil {
			panic(err)
		}
		doc = `{"x":` + string(inner) + `}`
	}
	return doc
}

func TestPlantedSecretsAreMasked(t *testing.T) {
	t.Parallel()
	for name, raw := range hiding {
		if !strings.Contains(raw, planted) {
			t.Fatalf("%s holds no secret", name)
		}
		safe, n, err := Mask([]byte(raw))
		if err != nil || n == 0 || !json.Valid(safe) || bytes.Contains(safe, []byte("PLANTED")) {
			t.Errorf("%s: %d masked, %v\n%s", name, n, err, safe)
		}
		slim, _, err := Slim([]byte(raw), Keep{ManagedFields: true, HelmValues: true})
		if err != nil || !bytes.Equal(slim, safe) {
			t.Errorf("%s: Slim says %s, %v", name, slim, err)
		}
	}
}

// What says nothing secret must stay readable: an agent reads these to do its work.
func TestWhatIsNoSecretStays(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"secretName":"db","existingSecret":"db","imagePullSecrets":[{"name":"reg"}],"secretRef":{"name":"x"}}`,
		`{"env":[{"name":"X","valueFrom":{"secretKeyRef":{"name":"s","key":"password"}}}]}`,
		`{"tolerations":[{"key":"dedicated","operator":"Equal","value":"onboarding"}]}`,
		`{"volumes":[{"name":"v","secret":{"secretName":"s","defaultMode":420,"items":[{"key":"a","path":"b"}]}}]}`,
		`{"roles":[{"name":"ci","jwtTokens":[{"iat":1535390316,"id":"abc"}]}]}`,
		`{"images":["registry.example.net:5000/a@sha256:0011223344","oci://reg.example.net:5000/img@sha256:0011"]}`,
		`{"repo":"git@git.corp.example.net:a/b.git","url":"ssh://git@git.corp.example.net/a/b.git"}`,
		`{"big":9007199254740993,"e":1e400,"neg":-0.0,"u":"\u00e9\u2028<&>","z":1,"a":2,"z":3}`,
		`{"ignoreDifferences":[{"group":"","kind":"Secret","jsonPointers":["/data"]}]}`,
		`{"message":"rpc error: code = Unknown desc = token: signature is invalid: secrets \"x\" not found"}`,
		`{"kind":"Secret","metadata":{"name":"x"},"data":{"a":"++++++++","b":"+++++++++"}}`,
		`{"maxTokens":4096,"passwordPattern":"^.{8,32}$","automountServiceAccountToken":true,"tokenUrl":"https://x/token"}`,
		`{"config":{"awsAuthConfig":{"clusterName":"c","roleARN":"arn:aws:iam::400000000001:role/deployer"},"tlsClientConfig":{"insecure":false,"serverName":"x"}}}`,
		`{"password":"","token":null,"secret":true}`,
		`[]`, `null`, `"x"`, `12345678901234567890`,
	} {
		safe, n, err := Mask([]byte(raw))
		if err != nil || n != 0 || string(safe) != raw {
			t.Errorf("%d masked, %v:\n%s became\n%s", n, err, raw, safe)
		}
	}
}

func TestSlimLeavesOutWhatMachinesRead(t *testing.T) {
	t.Parallel()
	raw := []byte(`{
		"metadata": {"name":"a","managedFields":[{"f":{"x":1}}],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}xx","k":"v"}},
		"spec": {"sources":[{"helm":{"values":"a: b","releaseName":"r"}},{"helm":{"valuesObject":{"a":{"b":1}},"valueFiles":["x"]}}],"values":"stays"},
		"status": {"history":[{"id":1,"source":{"helm":{"values":"gone too"}}}],"sync":{"status":"Synced"}},
		"info": {"apiVersions":["v1"],"serverVersion":"1.33"}, "history":["stays"]
	}`)
	slim, left, err := Slim(raw, Keep{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"name":"a","annotations":{"k":"v"}},"spec":{"sources":[{"helm":{"releaseName":"r"}},{"helm":{"valueFiles":["x"]}}],"values":"stays"},"status":{"sync":{"status":"Synced"}},"info":{"serverVersion":"1.33"},"history":["stays"]}`
	if string(slim) != want {
		t.Errorf("got\n%s\nwant\n%s", slim, want)
	}
	for i, path := range []string{"metadata.managedFields", "metadata.annotations.kubectl", "spec.sources[0].helm.values", "spec.sources[1].helm.valuesObject", "status.history", "info.apiVersions"} {
		if i >= len(left) || !strings.HasPrefix(left[i], path) || !strings.Contains(left[i], "B)") {
			t.Fatalf("left out: %q, want %s at %d", left, path, i)
		}
	}
	all, left, err := Slim(raw, Keep{ManagedFields: true, History: true, HelmValues: true, APIVersions: true})
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		t.Fatal(err)
	}
	if err != nil || len(left) != 0 || !bytes.Equal(all, compact.Bytes()) {
		t.Errorf("with everything kept: %s, %q, %v", all, left, err)
	}
}

func TestLeftIsBounded(t *testing.T) {
	t.Parallel()
	raw := []byte(`[` + strings.Repeat(`{"helm":{"values":"a: b"}},`, 1000) + `{}]`)
	_, left, err := Slim(raw, Keep{})
	if err != nil || len(left) != maxLeft+1 || !strings.HasPrefix(left[maxLeft], "988 more") {
		t.Errorf("%q, %v", left, err)
	}
}

func TestBrokenInputIsAnErrorThatQuotesNothing(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", " ", "{", `{"password":"hunter2PLANTED"`, `{} {}`, strings.Repeat("[", 20000), "\xff", "<html>"} {
		for _, err := range []error{second(Mask([]byte(raw))), second3(Slim([]byte(raw), Keep{}))} {
			if !errors.Is(err, ErrJSON) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%.40q: %v", raw, err)
			}
		}
	}
}

func second(_ []byte, _ int, err error) error   { return err }
func second3(_ []byte, _ Left, err error) error { return err }

// The recorded lists of a real server hold no secret: masking must not touch them, and
// what Slim takes out must be most of what they are.
func TestRecordedObjectsKeepEverythingThatIsNoSecret(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"applications", "projects", "applicationsets", "clusters", "repositories"} {
		raw := some(t, recorded(t, kind))
		safe, n, err := Mask(raw)
		if err != nil || n != 0 {
			t.Errorf("%s: %d masked, %v", kind, n, err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(safe, compact.Bytes()) {
			t.Errorf("%s: masking changed it", kind)
		}
		slim, left, err := Slim(raw, Keep{})
		if err != nil || !json.Valid(slim) || bytes.Contains(slim, []byte(`"managedFields"`)) {
			t.Errorf("%s: %v, %q", kind, err, left)
		}
		if kind == "applications" && len(slim) > len(raw)*3/4 {
			t.Errorf("%d of %d bytes are left", len(slim), len(raw))
		}
	}
}

// some is the first 150 elements of a list: the rest is alike, and takes its time under the
// race detector.
func some(t testing.TB, list []byte) []byte {
	var all struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(list, &all); err != nil {
		t.Fatal(err)
	}
	all.Items = all.Items[:min(150, len(all.Items))]
	raw, err := json.Marshal(all.Items)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func recorded(t testing.TB, kind string) []byte {
	f, err := os.Open(filepath.Join("..", "testdata", "recorded", kind+".json.gz"))
	if err != nil {
		t.Skipf("no recorded %s: %v", kind, err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
