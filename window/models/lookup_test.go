package models

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/window/models/spelling"
)

func TestLookup(t *testing.T) {
	long := []string{"claude-code-20250219,context-1m-2025-08-07", "interleaved-thinking-2025-05-14"}
	for _, c := range []struct {
		upstream, model string
		betas           []string
		want            int // Context, 0: not found; negative: guessed by its family
	}{
		{"anthropic", "claude-sonnet-4-5-20250929", nil, 200_000},
		{"anthropic", "claude-sonnet-4-5-20250929", long, 1_000_000},
		{"anthropic", "claude-sonnet-4-5[1m]", nil, 1_000_000},
		{"anthropic", "claude-sonnet-4-5[1M]", nil, 1_000_000},
		{"anthropic", "Claude-Sonnet-4.5", nil, 200_000},
		{"anthropic", "claude-sonnet-4-20250514", long, 1_000_000},
		{"anthropic", "claude-sonnet-4-0", []string{" Context-1M-2025-08-07 "}, 1_000_000},
		{"anthropic", "claude-haiku-4-5-20251001", long, 200_000},
		{"anthropic", "claude-opus-4-5", long, 200_000},
		{"anthropic", "claude-opus-4-6", nil, 1_000_000},
		{"anthropic", "claude-sonnet-4-6", long, 1_000_000},
		{"anthropic", "claude-opus-9-1", nil, -1_000_000},  // newer than the catalogue
		{"anthropic", "claude-haiku-5-9", nil, -1_000_000}, // a generation after the newest haiku
		{"anthropic", "claude-saga-6", nil, -1_000_000},    // of a name that nobody knows
		{"anthropic", "claude-3-9-sonnet", nil, -200_000},  // between two that are known
		{"anthropic", "claude-3-5-sonnet-latest", nil, -200_000},
		{"copilot", "claude-sonnet-4.5", long, 200_000},
		{"bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", nil, 200_000},
		{"bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", long, 1_000_000},
		{"bedrock", "apac.anthropic.claude-3-haiku-20240307-v1:0", nil, 200_000},
		{"bedrock", "anthropic.claude-3-haiku-20240307-v1:0:48k", nil, 48_000},
		{"bedrock", "arn:aws:bedrock:us-east-1:123456789012:inference-profile/global.anthropic.claude-opus-4-6-v1", nil, 1_000_000},
		{"bedrock", "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abcdefghij", nil, 0},
		{"bedrock", "eu.amazon.nova-pro-v1:0", nil, 300_000},
		{"https://bedrock-runtime.us-east-1.amazonaws.com", "deepseek.r1-v1:0", nil, 128_000},
		{"vertex", "claude-sonnet-4-5@20250929", nil, 200_000},
		{"vertex", "publishers/anthropic/models/claude-opus-4-5@20251101:streamRawPredict", nil, 200_000},
		{"vertex", "projects/p/locations/l/publishers/google/models/gemini-2.5-pro:generateContent", nil, 1_048_576},
		{"gemini", "models/gemini-2.5-pro:streamGenerateContent", nil, 1_048_576},
		{"gemini", "gemini-2.5-pro-preview-06-05", nil, -1_048_576},
		{"gemini", "gemini-1.5-pro-002", nil, 2_097_152},
		{"gemini", "gemini-7.5-ultra", nil, -1_048_576},
		{"openai", "gpt-5", nil, 400_000},
		{"openai", "gpt-5-2025-08-07", nil, 400_000},
		{"openai", "openai/gpt-4o-2024-08-06", nil, 128_000},
		{"openai", "gpt-4.1-2025-04-14", nil, 1_047_576},
		{"openai", "gpt-4-0613", nil, 8192},
		{"openai", "gpt-4-1106-preview", nil, 128_000},
		{"openai", "gpt-4-32k-0613", nil, 32_768},
		{"openai", "gpt-6.1-sol", nil, -1_050_000},
		{"openai", "gpt-9-colossal", nil, -1_050_000},
		{"openai", "gpt-4-something", nil, -128_000}, // must not be taken for gpt-4
		{"azure", "gpt-4o", nil, 128_000},
		{"azure", "my-deployment", nil, 0},
		{"https://me.openai.azure.com/openai", "gpt-4o-mini", nil, 128_000},
		{"openrouter", "deepseek/deepseek-r1:free", nil, 64_000},
		{"https://api.fireworks.ai/inference/v1", "accounts/fireworks/models/kimi-k2-instruct-0905", nil, -262_144},
		{"https://api.groq.com/openai/v1", "llama-3.3-70b-versatile", nil, 131_072},
		{"xai", "grok-4-fast", nil, -2_000_000},
		// Only others are known to serve it, and they give it less (32,768) than this one may.
		{"fireworks", "accounts/fireworks/models/deepseek-r1-distill-qwen-7b", nil, -32_768},
		{"https://gateway.example.com/v1", "Sao10K/L3.1-70B-Euryale-v2.2", nil, -20_480},
		{"azure", "o3-pro", nil, 200_000}, // the maker's
		// Names with a month, and with one number behind a v: newer than any that is known.
		{"mistral", "mistral-large-2612", nil, -262_144},
		{"mistral", "mistral-large-2407", nil, -131_072},
		{"mistral", "mistral-large-4", nil, -262_144}, // there are months only
		{"mistral", "devstral-3", nil, -262_144},
		{"mistral", "devstral-small-2702", nil, -262_144},
		{"mistral", "codestral-2702", nil, -256_000},
		{"deepseek", "deepseek-v5", nil, -1_048_576},
		{"together", "Qwen/Qwen3-235B-A22B-Instruct-2612", nil, -262_144},
		// The alias may have moved on to the member of 2512, which takes more than what the catalogue has of it.
		{"mistral", "ministral-8b-latest", nil, -262_144},
		{"mistral", "mistral-large-latest", nil, 262_144},
		{"", "claude-opus-4-5", nil, 200_000},
		{"https://gateway.example.com/v1", "anthropic/claude-sonnet-4.6", nil, 1_000_000},
		{"ollama", "qwen3-32b", nil, 0},
		{"http://127.0.0.1:11434/v1", "gpt-oss:20b", nil, 0},
		{"openai", "", nil, 0},
		{"openai", "[1m]", nil, 0},
		{"openai", "models/", nil, 0},
	} {
		got, ok := Lookup(c.upstream, c.model, c.betas)
		want, guessed := max(c.want, -c.want), c.want < 0
		if ok != (want > 0) || got.Context != want || got.Guessed() != guessed {
			t.Errorf("Lookup(%q, %q, %v) = %+v, %v; want %d, guessed: %v", c.upstream, c.model, c.betas, got, ok, want, guessed)
		}
	}
}

func TestProvider(t *testing.T) {
	for upstream, want := range map[string]string{
		"openai": "openai", "Azure-OpenAI": "azure", "aws-bedrock": "bedrock", "google": "gemini", "": "", "something": "",
		"https://api.openai.com/v1": "openai", "https://chatgpt.com/backend-api/codex": "openai", "api.anthropic.com": "anthropic",
		"https://generativelanguage.googleapis.com": "gemini", "https://us-central1-aiplatform.googleapis.com/v1": "vertex",
		"https://aiplatform.googleapis.com": "vertex", "https://bedrock-runtime.eu-west-1.amazonaws.com": "bedrock", "https://s3.amazonaws.com": "",
		"https://api.individual.githubcopilot.com": "copilot", "https://api.z.ai/api/anthropic": "glm", "https://api.x.ai/v1": "xai",
		"https://dashscope-intl.aliyuncs.com/compatible-mode/v1": "qwen", "http://localhost:1234/v1": "lmstudio", "http://[::1]:11434": "ollama",
		"https://user:secret@api.groq.com/openai/v1": "groq", "https://notgroq.com": "", "openai+https://api.groq.com/openai/v1": "groq", "anthropic+http://127.0.0.1:9999": "anthropic", "openai+http://127.0.0.1:11434/v1": "ollama", "x+y://z": "", "openai+http://127.0.0.1:4000": "openai", "openai+https://api.groq.com": "groq", "a+b+http://x": "", "https://api.groq.com.evil.example": "", "://": "",
	} {
		if got := Provider(upstream); got != want {
			t.Errorf("Provider(%q) = %q, want %q", upstream, got, want)
		}
	}
}

func TestMayTruncate(t *testing.T) {
	for upstream, want := range map[string]bool{
		"openai+http://127.0.0.1:11434/v1": true, "ollama": true, "openai+http://127.0.0.1:8080/v1": true, "https://models.example.com": true,
		"openai+https://api.openai.com/v1": false, "anthropic": false, "anthropic+https://api.anthropic.com": false, "https://api.groq.com": false,
	} {
		if got := MayTruncate(upstream, "llama3.1:8b"); got != want {
			t.Errorf("MayTruncate(%q) = %v", upstream, got)
		}
	}
	// Behind a gateway is who refuses by himself.
	for model, want := range map[string]bool{
		"llama3.1:8b": true, "qwen3-coder": true, "gpt-oss:20b": true, "openai/gpt-oss-120b": true, "o1llama": true, "my-model": true, "": true,
		"claude-sonnet-4-5": false, "anthropic/claude-opus-4.1": false, "us.anthropic.claude-sonnet-4-20250514-v1:0": false, "gemini-2.5-pro": false,
		"models/gemini-2.5-pro": false, "gpt-4o": false, "openai/gpt-5.1": false, "o3": false, "o4-mini": false, "x-ai/grok-4": false,
	} {
		if got := MayTruncate("anthropic+http://127.0.0.1:4000", model); got != want {
			t.Errorf("a gateway with %q: %v", model, got)
		}
	}
}

func TestCutsSilently(t *testing.T) {
	for upstream, want := range map[string]bool{
		"openai+http://127.0.0.1:11434/v1": true, "ollama": true, "lmstudio": true, "llama.cpp": true, "openai+http://127.0.0.1:8080/v1": true, "openai+https://ollama.example.com:11434/v1": true,
		"openai+http://gpu-box:8000/v1": true, "openai+https://gpu-box/v1": true, "openai+https://models.lab.internal/v1": true, "openai+https://10.1.2.3/v1": true, "openai+https://[fd00::7]/v1": true,
		"openai+https://100.101.7.7/v1": true, "openai+http://models.example.com/v1": true, "somebody": true, "": true, "openai+https://llm.localhost": true, "openai+https://169.254.1.1": true,
		"openai+https://models.example.com/v1": false, "https://MODELS.example.com.": false, "openai+https://8.8.8.8/v1": false, "openai+https://[2001:4860:4860::8888]/v1": false,
		"openai+https://api.groq.com/openai/v1": false, "groq": false, "vllm": false, "openai+https://api.fireworks.ai/inference/v1": false,
	} {
		if got := CutsSilently(upstream, "llama3.1:8b"); got != want {
			t.Errorf("CutsSilently(%q) = %v", upstream, got)
		}
		if CutsSilently(upstream, "claude-opus-5-5") && Provider(upstream) == "" {
			t.Errorf("%q is taken to cut what only its maker serves", upstream)
		}
	}
}

func TestRoomForInput(t *testing.T) {
	for _, c := range []struct {
		w             Window
		reserve, want int
	}{
		{Window{Context: 200_000}, 20_000, 180_000},
		{Window{Context: 400_000, Input: 272_000}, 20_000, 272_000},
		{Window{Context: 400_000, Input: 272_000}, 200_000, 200_000},
		{Window{Context: 1000}, 5000, 0},
		{Window{Context: 1000}, -5, 1000},
	} {
		if got := c.w.ForInput(c.reserve); got != c.want {
			t.Errorf("%+v beside %d: %d, want %d", c.w, c.reserve, got, c.want)
		}
	}
}

// Every line is found by bisection, and is what the kept catalogue says.
func TestTable(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(builtin, "\n"), "\n")
	if !slices.IsSorted(lines) && !slices.IsSortedFunc(lines, func(a, b string) int {
		ka, _, _ := strings.Cut(a, " ")
		kb, _, _ := strings.Cut(b, " ")
		return strings.Compare(ka, kb)
	}) {
		t.Fatal("the table is not sorted: run go generate")
	}
	for _, line := range lines {
		key, limits, _ := strings.Cut(line, " ")
		w, ok := new(Catalogue).find(key)
		if want := (table{source: SourceCatalogue}).parseLimits(limits); !ok || w != want || w.Context < MinContext || w.Context > MaxContext || w.Input > w.Context || w.Output < 0 {
			t.Errorf("%s: found %+v, %v; the line says %s", key, w, ok, limits)
		}
	}
	for _, key := range []string{"", "a", "zzz", "anthropic/", "anthropic/claude", "openai/gpt-4o ", "openai/gpt-4", "openai/gpt-44"} {
		if _, ok := new(Catalogue).find(key); ok != (key == "openai/gpt-4") {
			t.Errorf("find(%q) = %v", key, ok)
		}
	}
	text := testfile.Read(t, "catalogue.json")
	var kept struct {
		Date      string
		Licence   string
		Providers map[string]map[string][3]int
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	if kept.Date != CatalogueDate || kept.Licence == "" {
		t.Errorf("the catalogue is of %q, the constant says %q: run go generate and change the constant", kept.Date, CatalogueDate)
	}
	models := 0
	for provider, list := range kept.Providers {
		if provider != "any" && Provider(provider) != provider {
			t.Errorf("nobody can ask for the provider %q", provider)
		}
		for model, limits := range list {
			models++
			w, ok := new(Catalogue).find(provider + "/" + spelling.Fold(model))
			if !ok || w.Context != limits[0] {
				t.Errorf("%s %s: the table has %+v, the catalogue %v: run go generate", provider, model, w, limits)
			}
		}
	}
	if models < 1000 {
		t.Errorf("only %d models", models)
	}
}

func FuzzLookup(f *testing.F) {
	f.Add("anthropic", "claude-sonnet-4-5[1m]", "context-1m-2025-08-07")
	f.Add("https://x.y:11434/z", "us.anthropic.claude-3-haiku-20240307-v1:0:48k", "")
	f.Add("", strings.Repeat("a/", 200), ",,,")
	f.Add("bedrock", "arn:aws:bedrock", "x")
	f.Fuzz(func(t *testing.T, upstream, model, beta string) {
		w, ok := Lookup(upstream, model, []string{beta})
		if ok != (w.Context > 0) || w.Context < 0 || w.Context > MaxContext || w.Input < 0 || w.Output < 0 {
			t.Errorf("Lookup(%q, %q, %q) = %+v, %v", upstream, model, beta, w, ok)
		}
		if n := parseName(model); len(n.spellings) > maxSpellings {
			t.Errorf("%q has %d spellings", model, len(n.spellings))
		}
		if folded := spelling.Fold(model); spelling.Fold(folded) != folded {
			t.Errorf("folding %q twice differs", model)
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	for b.Loop() {
		Lookup("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", nil)
	}
}
