package config_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
)

func TestAGenericToolIsKeyedByItsUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, tool, variant string }{
		{"make", "make", ""},
		{"make --version", "make", ""},
		{"make test", "make", "test"},
		{"make -j6 test", "make", "test"},
		{"make -j 6 test", "make", "test"},
		{"make -j test", "make", "test"},
		{"make -C sub CC=clang clean all", "make", "clean all"},
		{"make TOKEN=s3cr3t deploy", "make", "deploy"},
		{"npm run build", "npm", "run build"},
		{"npm run build -- --token s3cr3t", "npm", "run build"},
		{"npm test", "npm", "test"},
		{"npm --otp 123456 publish", "npm", "publish"},
		{"npm --otp s3cr3t", "npm", ""},
		{"yarn build", "yarn", "build"},
		{"yarn --token s3cr3t build", "yarn", "build"},
		{"yarn --token s3cr3t weird", "yarn", ""},
		{"pnpm -F web run dev", "pnpm", "run dev"},
		{"go test ./...", "go", "test"},
		{"go -C sub test", "go", "test"},
		{"go run ./cmd/server -key s3cr3t", "go", "run server"},
		{"cargo +nightly build --release", "cargo", "build"},
		{"mvn -s settings.xml -Dpw=s3cr3t verify", "mvn", "verify"},
		{"./gradlew -q :app:assemble", "gradlew", ":app:assemble"},
		{"env CI=1 timeout 10 make test", "make", "test"},
		{"python3 train.py --lr 1", "train.py", ""},
		{"claude -p make", "claude", ""},
		{"sleep 1", "sleep", ""},
		{"git -c http.extraheader=s3cr3t clone https://u:s3cr3t@host/x", "git", "clone"},
		{"just deploy s3cr3t", "just", "deploy"},
	} {
		got := config.Tool(strings.Fields(c.command))
		if got.Tool != c.tool || got.Variant != c.variant {
			t.Errorf("%s: tool %q, variant %q; want %q, %q", c.command, got.Tool, got.Variant, c.tool, c.variant)
		}
	}
}

func TestTextForAnInterpreterIsKeyedByADigest(t *testing.T) {
	t.Parallel()
	a := config.Tool([]string{"sh", "-c", "echo s3cr3t; make"})
	b := config.Tool([]string{"bash", "-lc", "echo s3cr3t; make; true"})
	p := config.Tool([]string{"python3", "-c", "print('s3cr3t')"})
	for _, m := range []config.Match{a, b, p} {
		if !strings.HasPrefix(m.Variant, "code-") || len(m.Variant) != len("code-")+8 || strings.Contains(m.Variant, "s3cr3t") {
			t.Errorf("%+v", m)
		}
	}
	if a.Tool != "sh" || b.Tool != "bash" || p.Tool != "python3" || a.Variant == b.Variant {
		t.Errorf("%+v, %+v, %+v", a, b, p)
	}
	// One command behind the shell is that command.
	if m := config.Tool([]string{"sh", "-c", "make test"}); m.Tool != "make" || m.Variant != "test" {
		t.Errorf("%+v", m)
	}
}

// FuzzVariant: whatever the arguments are, a variant is short, plain and holds no value of an option.
func FuzzVariant(f *testing.F) {
	for _, s := range []string{"make test", "npm\x00run\x00build", "sh\x00-c\x00x; y", "go\x00run\x00./a/b", "yarn\x00--x\x00y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		m := config.Tool(strings.Split(line, "\x00"))
		if len(m.Variant) > 80 || strings.ContainsFunc(m.Variant, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune("=@\\/\"'$`", r) }) {
			t.Fatalf("%q: %q", line, m.Variant)
		}
	})
}

// A person reads a script's call and not its digest.
func TestAToolIsNamedAsItIsCalled(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"make test": "make test", "npm run build": "npm run build", "claude -p x": "claude", "sh -c exit": "sh -c", "node -e y;z": "node -e",
	} {
		m := (&config.Loaded{}).Tool(strings.Fields(command))
		if got := config.NameTool(m.Tool, m.Variant); got != want {
			t.Errorf("%s (%s, %s) is named %q", command, m.Tool, m.Variant, got)
		}
	}
}
