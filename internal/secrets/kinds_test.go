package secrets

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
)

// kinds are keys as their issuers make them, written from their documentation and not from the table. Prefixes are in pieces, so that
// no scanner takes this file for a leak.
var kinds = []struct {
	name string
	make func(r *rand.Rand) string
}{
	{"OpenAI project key", of("sk", "-proj-", 156, base64url)},
	{"OpenAI key", of("sk", "-", 48, base62)},
	{"Anthropic key", of("sk-a", "nt-api03-", 95, base64url)},
	{"Anthropic login", of("sk-a", "nt-oat01-", 95, base64url)},
	{"OpenRouter key", of("sk", "-or-v1-", 64, lowerHex)},
	{"Groq key", of("gs", "k_", 52, base62)},
	{"xAI key", of("xa", "i-", 80, base62)},
	{"Hugging Face token", of("h", "f_", 34, base62)},
	{"NVIDIA key", of("nva", "pi-", 64, base64url)},
	{"Perplexity key", of("ppl", "x-", 48, base62)},
	{"Replicate token", of("r", "8_", 37, base62)},
	{"Google key", of("AI", "za", 35, base64url)},
	{"Google access token", of("ya", "29.", 160, base64url)},
	{"Google refresh token", of("1/", "/0", 100, base64url)},
	{"Google client secret", of("GOC", "SPX-", 28, base64url)},
	{"Fireworks key", of("f", "w_", 24, base62)},
	{"Cerebras key", of("cs", "k-", 48, lower36)},
	{"Tavily key", of("tv", "ly-dev-", 32, base62)},
	{"LangSmith key", func(r *rand.Rand) string {
		return "lsv" + "2_pt_" + drawn(r, 32, lowerHex) + "_" + drawn(r, 10, lowerHex)
	}},
	{"Pinecone key", of("pcs", "k_", 70, base62+"_")},
	{"AWS access key id", of("AK", "IA", 16, base32)},
	{"AWS session key id", of("AS", "IA", 16, base32)},
	{"Bedrock key", of("AB", "SK", 128, base64std)},
	{"Alibaba key id", of("LT", "AI5t", 18, base62)},
	{"DigitalOcean token", of("dop", "_v1_", 64, lowerHex)},
	{"Databricks token", of("da", "pi", 32, lowerHex)},
	{"Fly token", of("fm", "2_", 200, base64std)},
	{"Supabase token", of("sb", "p_", 40, lowerHex)},
	{"Tailscale key", of("tsk", "ey-auth-k1CNTRL-", 32, base62)},
	{"GitHub token", of("gh", "p_", 36, base62)},
	{"GitHub app token", of("gh", "s_", 36, base62)},
	{"GitHub fine-grained token", of("github", "_pat_", 82, base62)},
	{"GitLab token", of("gl", "pat-", 20, base64url)},
	{"GitLab runner token", of("gl", "rt-", 20, base64url)},
	{"Atlassian token", of("ATA", "TT3xFfGF0", 180, base64url)},
	{"npm token", of("np", "m_", 36, base62)},
	{"PyPI token", of("py", "pi-AgEIcHlwaS5vcmc", 160, base64url)},
	{"RubyGems key", of("ruby", "gems_", 48, lowerHex)},
	{"Docker Hub token", of("dck", "r_pat_", 27, base64url)},
	{"Grafana token", func(r *rand.Rand) string { return "gl" + "sa_" + drawn(r, 32, base62) + "_" + drawn(r, 8, lowerHex) }},
	{"New Relic key", of("NR", "AK-", 27, upper36)},
	{"Sentry token", of("snt", "ryu_", 64, lowerHex)},
	{"Doppler token", of("dp", ".pt.", 43, base62)},
	{"Vault token", of("hv", "s.", 95, base64url)},
	{"Slack bot token", func(r *rand.Rand) string {
		return "xo" + "xb-" + drawn(r, 12, digits10) + "-" + drawn(r, 13, digits10) + "-" + drawn(r, 24, base62)
	}},
	{"Slack app token", func(r *rand.Rand) string {
		return "xa" + "pp-1-A" + drawn(r, 10, upper36) + "-" + drawn(r, 13, digits10) + "-" + drawn(r, 64, lowerHex)
	}},
	{"Discord bot token", func(r *rand.Rand) string {
		return base64.RawURLEncoding.EncodeToString([]byte("1"+drawn(r, 17, digits10))) + ".G" + drawn(r, 5, base62) + "." + drawn(r, 38, base64url)
	}},
	{"Telegram bot token", func(r *rand.Rand) string { return "7" + drawn(r, 9, digits10) + ":" + "AA" + drawn(r, 33, base64url) }},
	{"Stripe key", of("sk", "_live_", 99, base62)},
	{"Stripe restricted key", of("rk", "_live_", 99, base62)},
	{"Stripe webhook secret", of("wh", "sec_", 32, base62)},
	{"Square token", of("EA", "AA", 60, base64url)},
	{"Shopify token", of("shp", "at_", 32, lowerHex)},
	{"SendGrid key", func(r *rand.Rand) string { return "S" + "G." + drawn(r, 22, base64url) + "." + drawn(r, 43, base64url) }},
	{"Mailgun key", of("ke", "y-", 32, lowerHex)},
	{"Mailchimp key", func(r *rand.Rand) string { return drawn(r, 32, lowerHex) + "-u" + "s21" }},
	{"Brevo key", func(r *rand.Rand) string {
		return "xke" + "ysib-" + drawn(r, 64, lowerHex) + "-" + drawn(r, 16, base62)
	}},
	{"Twilio key", of("S", "K", 32, lowerHex)},
	{"Notion token", of("nt", "n_", 46, base62)},
	{"Linear key", of("lin", "_api_", 40, base62)},
	{"Figma token", of("fi", "gd_", 40, base64url)},
	{"Postman key", func(r *rand.Rand) string { return "PM" + "AK-" + drawn(r, 24, lowerHex) + "-" + drawn(r, 34, lowerHex) }},
	{"Airtable token", func(r *rand.Rand) string { return "pa" + "t" + drawn(r, 14, base62) + "." + drawn(r, 64, lowerHex) }},
	{"Dropbox token", of("s", "l.", 140, base64url)},
	{"age key", of("AGE-SEC", "RET-KEY-1", 58, upper36)},
	{"Entra client secret", func(r *rand.Rand) string { return drawn(r, 3, base62) + "8" + "Q~" + drawn(r, 34, base64url) }},
	{"Terraform token", func(r *rand.Rand) string { return drawn(r, 14, base62) + ".atl" + "asv1." + drawn(r, 67, base62) }},
	{"JWT", func(r *rand.Rand) string {
		return "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "J" + drawn(r, 60, base64url) + "." + drawn(r, 43, base64url)
	}},
	{"Slack hook", func(r *rand.Rand) string {
		return "https://hooks." + "slack.com/services/T" + drawn(r, 8, upper36) + "/B" + drawn(r, 8, upper36) + "/" + drawn(r, 24, base62)
	}},
	{"Discord hook", func(r *rand.Rand) string {
		return "https://discord." + "com/api/webhooks/" + drawn(r, 18, digits10) + "/" + drawn(r, 68, base64url)
	}},
	{"Teams hook", func(r *rand.Rand) string {
		id := "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
		return "https://acme.webhook." + "office.com/webhookb2/" + id + "@" + id + "/IncomingWebhook/" + drawn(r, 32, lowerHex) + "/" + id
	}},
	{"shared access signature", func(r *rand.Rand) string {
		return "https://acme.blob.core.windows.net/c/a.txt?sv=2024-11-04&sp=r&s" + "ig=" + drawn(r, 43, base62) + "%3D"
	}},
	{"presigned URL of S3", func(r *rand.Rand) string {
		return "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Sig" + "nature=" + drawn(r, 64, lowerHex)
	}},
	{"storage account key", func(r *rand.Rand) string { return "AccountName=acme;Account" + "Key=" + drawn(r, 86, base64std) + "==" }},
	{"URL with a password", func(r *rand.Rand) string { return "postgres://app:" + drawn(r, 14, base62) + "@db.internal:5432/app" }},
	{"URL with a token", func(r *rand.Rand) string { return "https://" + drawn(r, 40, lowerHex) + "@git.example.com/a/b.git" }},
}

func of(a, b string, n int, from string) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return a + b + drawn(r, n, from) }
}

// Every kind is found in the ways in which a command line can hold it.
func TestEveryKindOfKeyIsFoundInACommandLine(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	ways := map[string]func(key string) []string{
		"alone":         func(key string) []string { return []string{"deploy", key} },
		"in a flag":     func(key string) []string { return []string{"deploy", "--with=" + key} },
		"in a sentence": func(key string) []string { return []string{"claude", "-p", "call it with " + key + " and don't tell"} },
		"in a shell":    func(key string) []string { return []string{"bash", "-c", "deploy '" + key + "' | tee log"} },
		"in JSON":       func(key string) []string { return []string{"curl", "-d", `{"a":"` + key + `"}`} },
		"in a variable": func(key string) []string { return []string{"env", "X=" + key, "make"} },
	}
	missed := map[string]string{}
	for range 20 {
		for _, kind := range kinds {
			key := kind.make(r)
			for way, argv := range ways {
				if kept := strings.Join(Environ(nil).Argv(argv(key)), " "); leaks(kept, key) {
					missed[kind.name] = way + ": " + kept
				}
			}
		}
	}
	t.Logf("%d of %d kinds are found", len(kinds)-len(missed), len(kinds))
	for name, kept := range missed {
		t.Errorf("%s %s", name, kept)
	}
}

// leaks tells whether a part of the key that would be enough to guess the rest is still there: its last characters.
func leaks(kept, key string) bool {
	tail := key[len(key)-min(12, len(key)/2):]
	if at := strings.LastIndexByte(key, '@'); at >= 0 && strings.Contains(key, "://") && !strings.Contains(key, "IncomingWebhook") {
		tail = key[strings.Index(key, "://")+3 : at]
	}
	return strings.Contains(kept, tail)
}

// What a name, a flag or a header says to be a secret is masked, whatever it looks like.
func TestNamesFlagsAndHeadersHideTheirValues(t *testing.T) {
	t.Parallel()
	const p = "correct-horse!"
	for _, argv := range [][]string{
		{"deploy", "--password", p},
		{"deploy", "--password=" + p},
		{"deploy", "-password", p},
		{"deploy", "--db-password", p, "--verbose"},
		{"deploy", "--api-key", p},
		{"env", "DB_PASSWORD=" + p + "&more;" + p, "make"},
		{"docker", "run", "-e", "POSTGRES_PASSWORD=" + p, "postgres"},
		{"docker", "run", "--env=POSTGRES_PASSWORD=" + p, "postgres"},
		{"docker", "login", "-u", "ci", "-p", p, "ghcr.io"},
		{"helm", "install", "x", "--set", "auth.password=" + p},
		{"java", "-Dspring.datasource.password=" + p, "-jar", "a.jar"},
		{"kubectl", "create", "secret", "generic", "x", "--from-literal=password=" + p},
		{"curl", "-u", "admin:" + p, "https://example.com"},
		{"curl", "--user", "admin:" + p, "https://example.com"},
		{"curl", "--user=admin:" + p, "https://example.com"},
		{"curl", "-H", "Authorization: Basic " + p},
		{"curl", "-H", "authorization: " + p},
		{"curl", "-HX-Api-Key: " + p},
		{"curl", "--header", "PRIVATE-TOKEN: " + p},
		{"curl", "--header=Ocp-Apim-Subscription-Key: " + p},
		{"curl", "-H", "Cookie: session=" + p + "; other=" + p},
		{"curl", "-b", "session=" + p, "https://example.com"},
		{"curl", "--cookie", "session=" + p},
		{"grpcurl", "-H", "authorization: Bearer " + p, "localhost:50051", "list"},
		{"mysql", "-u", "root", "-p" + p, "app"},
		{"/usr/bin/mysqldump", "-uroot", "-p" + p, "app"},
		{"sshpass", "-p", p, "ssh", "a@b"},
		{"redis-cli", "-h", "r", "-a", p, "ping"},
		{"ldapsearch", "-x", "-D", "cn=admin", "-w", p},
		{"smbclient", "-U", "admin%" + p, "//srv/share"},
		{"openssl", "rsa", "-in", "k.pem", "-passin", "pass:" + p},
		{"7z", "x", "-p" + p, "a.7z"},
		{"bash", "-c", "mysql -uroot -p'" + p + "' app < dump.sql"},
		{"bash", "-c", "cd /srv; curl -u \"admin:" + p + "\" https://example.com"},
		{"sh", "-c", "su -c \"sshpass -p " + p + " ssh a@b\" app"},
		{"ssh", "a@b", "PGPASSWORD=" + p + " psql"},
		{"claude", "--settings", `{"apiKey": "` + p + `"}`},
	} {
		if kept := Environ(nil).Argv(argv); strings.Contains(strings.Join(kept, " "), "horse") {
			t.Errorf("%q is kept as %q", argv, kept)
		}
	}
}

func TestWhatOnlySpeaksOfASecretIsKept(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{
		{"docker", "login", "--password-stdin", "ghcr.io"},
		{"docker", "run", "-p", "8080:80", "-u", "1000:1000", "mysql:8"},
		{"deploy", "--password-file", "/run/secrets/pw", "--token", "$TOKEN", "--key", "./tls.pem", "--password", "/run/secrets/db"},
		{"python", "gen.py", "--max-tokens", "4096", "--n_token=12"},
		{"curl", "-H", "Authorization: Bearer ${TOKEN}"},
		{"mysql", "-P", "3306", "-p", "app"},
		{"http", "--auth-type", "bearer", "--auth", "basic"},
	} {
		if kept := Environ(nil).Argv(argv); strings.Join(kept, " ") != strings.Join(argv, " ") {
			t.Errorf("%q is kept as %q", argv, kept)
		}
	}
}

func TestValuesOfTheEnvironmentAreMaskedInACommandLine(t *testing.T) {
	t.Parallel()
	v := Environ([]string{"STORE_PASSPHRASE=tulip-garden-9", "HOME=/root"})
	got := strings.Join(v.Argv([]string{"sh", "-c", "echo tulip-garden-9 | login --as=tulip-garden-9", "tulip-garden-9"}), " ")
	if strings.Contains(got, "tulip") {
		t.Errorf("kept as %q", got)
	}
}
