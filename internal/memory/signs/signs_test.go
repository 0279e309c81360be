package signs_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/memory/signs"
)

func TestStates(t *testing.T) {
	for _, text := range []string{
		"We use pnpm in the frontend", "The ledger is kept in Postgres 16.", "Use pnpm? We moved to bun.", "Uses pnpm.", "In May we moved to Hetzner", "from now on the ledger is frozen",
		"When a release is cut, Marta tags it.", "Build servers must be on Hetzner", "Test data has no names", "Log files are in /var/log", "Please fix it. The crane is called Gustav.",
		"Write keywords in upper case and never select star", "now we use bun", "What we use: pnpm and bun", "fix v1.2 of the parser\nthe parser reads main.go", "I want answers in French", "- the crane is Gustav",
		"Session 1: my keys stay in the safe, what else do you know of them?", "我们用 pnpm 管理依赖，为什么？", "Unser Lager heißt Säntis, was noch?",
		"Wir nutzen pnpm", "Die Sitzung ist montags", "Teste laufen nachts? Das Lager steht in Zürich", "Bei uns heißt das Lager Säntis", "Nun nutzen wir pnpm.",
		"Usamos pnpm en el frontend", "La base de datos es CockroachDB", "Por ahora la grúa se llama Gustavo",
		"我们用 pnpm 管理依赖", "缓存过期时间统一设为十五分钟。", "更新频率是每周一次", "修复登录。我们每周二发布版本",
	} {
		if !signs.States(text) {
			t.Errorf("%q states nothing", text)
		}
	}
	for _, text := range []string{
		"", "?", "hello!", "ok", "yes", "thanks", "...", "```", "1. 2. 3.", "k8s deploy", "Which package manager do we use?", "which package manager do we use", "what about the harbour, the crane, Monday, six, French?",
		"if we deploy on Friday, what breaks?", "Question 7: when, and where, do we meet?", "my crane, which is it?", "can we deploy on Friday", "could you fix the tests of the frontend", "please run the tests before you commit", "Fix the test that is failing", "now add a test for the parser", "List all that is known of the crane",
		"check whether it is deployed", "Open https://example.com/?page=is", "Run the tests! Then commit them.", "tell me what the ledger is kept in", "Is the ledger frozen？",
		"Führe die Tests aus", "Welche Datenbank nutzen wir", "Bitte prüfe den Import", "Kannst du den Import prüfen", "Zeig mir was im Lager ist",
		"arregla la función de redis", "¿Cuál es la base de datos?", "Por favor revisa el código", "muéstrame qué es la grúa",
		"运行测试", "请修复登录的问题", "缓存过期时间应该设多少？", "我们用什么数据库", "好的", "告诉我发布时间在哪一天",
	} {
		if signs.States(text) {
			t.Errorf("%q states something", text)
		}
	}
}

// TestAGreetingIsTakenWhole: 你好 is one word, whatever order the lists are gone through in, and the order behind it is none of what it says.
func TestAGreetingIsTakenWhole(t *testing.T) {
	for range 100 {
		if signs.States("你好，修复登录页面的错误") {
			t.Fatal("an order behind a greeting states something")
		}
	}
}

// TestSignsStandInTheirOrder: the constants name the lists by their place in signs.txt.
func TestSignsStandInTheirOrder(t *testing.T) {
	for word, want := range map[string]uint64{
		"refactor": signs.Order, "remind": signs.Ask, "bitte": signs.Polite, "ours": signs.Mine, "这段": signs.Here, "welche": signs.Question,
		"decidimos": signs.Said, "sämtliche": signs.List, "servus": signs.Greeting, "haiku": signs.General, "prefiero": signs.Likes,
	} {
		if signs.Lookup(word)&want == 0 {
			t.Errorf("%s has the signs %b, want %b", word, signs.Lookup(word), want)
		}
	}
	for w := range signs.Words() {
		if w != strings.ToLower(w) {
			t.Errorf("%s is not in lower case", w)
		}
	}
}

func FuzzStates(f *testing.F) {
	for _, seed := range []string{"", "We use pnpm.", "我们用什么", "?？؟.\n\xff", "请请请", "- 1. fix", "İ ſ K ¿Cuál"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if signs.States(text) && strings.TrimSpace(text) == "" {
			t.Errorf("%q states something", text)
		}
		if strings.HasSuffix(text, "?") && !strings.ContainsAny(text, ".!;\n。！；") && strings.Count(text, "?") == 1 && !strings.ContainsAny(text, "？؟") && len(text) < 1000 && signs.States(text) {
			t.Errorf("the question %q states something", text)
		}
	})
}

func BenchmarkStates(b *testing.B) {
	text := "please look at the ledger of ticket 4711, which scheduler does it use? The ledger uses importer4711, and we looked at it together with the gateway."
	for b.Loop() {
		signs.States(text)
	}
}
