package secrets

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/shellwords"
)

//go:embed testdata/commands.txt
var commands string

const (
	digits10  = "0123456789"
	lowerHex  = "0123456789abcdef"
	lower36   = "0123456789abcdefghijklmnopqrstuvwxyz"
	upper36   = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	base32    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	base62    = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	base58    = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	base64url = base62 + "-_"
	base64std = base62 + "+/"
)

func drawn(r *rand.Rand, n int, from string) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = from[r.IntN(len(from))]
	}
	return string(out)
}

var (
	placeholder = regexp.MustCompile(`\{([a-z][a-z0-9]*)\}`)
	sized       = regexp.MustCompile(`^([a-z]+[0-9]*?)x?([0-9]+)$`)
	someWords   = strings.Fields("api token secret auth web worker payments session keycloak vault user-service credentials passport backend frontend " +
		"authentication hello-world data_pipeline my-app nginx-ingress cert-manager external-secrets tokenizers keyring oauth2-proxy scikit-learn hf-hub " +
		"skaffold risk-engine task-queue desk-app ask-me key-value sg-1 pat-server npm_config")
)

// filled puts random values into a line's places.
func filled(r *rand.Rand, line string) string {
	return placeholder.ReplaceAllStringFunc(line, func(m string) string {
		uuid := func() string {
			return strings.Join([]string{drawn(r, 8, lowerHex), drawn(r, 4, lowerHex), "4" + drawn(r, 3, lowerHex), "a" + drawn(r, 3, lowerHex), drawn(r, 12, lowerHex)}, "-")
		}
		word := func() string { return someWords[r.IntN(len(someWords))] }
		switch name := m[1 : len(m)-1]; name {
		case "sha1":
			return drawn(r, 40, lowerHex)
		case "sha256":
			return drawn(r, 64, lowerHex)
		case "md5":
			return drawn(r, 32, lowerHex)
		case "short":
			return drawn(r, 7+r.IntN(6), lowerHex)
		case "hex64short":
			return drawn(r, 8, lowerHex)
		case "uuid":
			return uuid()
		case "uuidupper":
			return strings.ToUpper(uuid())
		case "uuidv7":
			return "0199" + uuid()[4:]
		case "gpg":
			return drawn(r, 40, "0123456789ABCDEF")
		case "nix":
			return drawn(r, 32, "0123456789abcdfghijklmnpqrsvwxyz")
		case "acct":
			return drawn(r, 12, digits10)
		case "int":
			return strconv.Itoa(1 + r.IntN(99999))
		case "ver":
			return fmt.Sprintf("%d.%d.%d", r.IntN(20), r.IntN(30), r.IntN(99))
		case "ip":
			return fmt.Sprintf("10.%d.%d.%d", r.IntN(255), r.IntN(255), 1+r.IntN(254))
		case "word":
			return word()
		case "path":
			return []string{"src/", "/home/dev/", "./", "/var/lib/", "../", "internal/"}[r.IntN(6)] + word() + "/" + word() + "_" + drawn(r, 4, lower36) + []string{".go", ".py", ".json", "_test.go", ".tsx", ".pem"}[r.IntN(6)]
		case "b64name":
			return base64.RawURLEncoding.EncodeToString([]byte(word() + " " + drawn(r, 9, base62) + " " + word()))
		default:
			if at := sized.FindStringSubmatch(name); at != nil {
				n, _ := strconv.Atoi(at[2])
				if set := map[string]string{"hex": lowerHex, "hash": "bcdfghjklmnpqrstvwxz2456789", "b62": base62, "b58": base58, "b64": base64std, "dec": digits10}[at[1]]; set != "" {
					return drawn(r, n, set)
				}
			}
			return m
		}
	})
}

// Of ten thousand arguments of command lines without a secret at most one is masked, by mistake.
func TestCommandsWithoutSecretsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	total, wrong := 0, 0
	said := map[string]bool{}
	for total < 50_000 {
		for line := range strings.Lines(commands) {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			argv, err := shellwords.Split(filled(r, line))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			for i, word := range Environ(nil).Argv(argv) {
				total++
				if word != argv[i] {
					wrong++
					if !said[line] {
						said[line] = true
						t.Logf("%q became %q in %q", argv[i], word, argv)
					}
				}
			}
		}
	}
	t.Logf("%d of %d", wrong, total)
	if wrong > total/10_000 {
		t.Errorf("%d of %d arguments are masked that hold no secret", wrong, total)
	}
}
