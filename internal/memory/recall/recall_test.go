package recall_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/recall"
)

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// said is a text, and how many days ago it was said.
type said struct {
	text string
	days int
}

// storeOf makes a store with what a person has said.
func storeOf(t testing.TB, all ...said) *memory.Store {
	t.Helper()
	s, err := memory.Open(memory.Options{Dir: t.TempDir(), Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, one := range all {
		if _, err := s.Add(context.Background(), memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: "user", Text: one.text, Said: now.AddDate(0, 0, -one.days)}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// ask decides what a prompt is given out of a store.
func ask(t testing.TB, s *memory.Store, prompt string) recall.Decision {
	t.Helper()
	p := recall.Read(prompt)
	var found memory.Results
	if p.Why == "" {
		var err error
		if found, err = s.Search(context.Background(), memory.Query{Text: p.Query, Loose: true, Limit: recall.Candidates}); err != nil {
			t.Fatal(err)
		}
	}
	return recall.Decide(p, found, now)
}

func texts(d recall.Decision) (out []string) {
	for _, l := range d.Given {
		out = append(out, l.Text)
	}
	return out
}

// given fails unless a prompt is given just these texts.
func given(t *testing.T, s *memory.Store, prompt string, want ...string) recall.Decision {
	t.Helper()
	d := ask(t, s, prompt)
	if got := texts(d); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q is given %q, not %q: %s", prompt, got, want, d.Why)
	}
	return d
}

// TestSignsBeforeTheFirstWordChangeNothing: which sentence of several asks for what is the person's does not depend on a sign before the first.
func TestSignsBeforeTheFirstWordChangeNothing(t *testing.T) {
	s := storeOf(t, everyday...)
	for _, sign := range []string{"", "- ", "\"", "¿", "… "} {
		given(t, s, sign+"When do we cut our releases? What is the weather in general?", "Releases are cut on Tuesdays.")
	}
}

// TestALongPromptIsReadAtBothEnds: a question counts behind, and before, what was pasted: prose or a log.
func TestALongPromptIsReadAtBothEnds(t *testing.T) {
	s := storeOf(t, said{"The ledger of Halcyon is kept in Postgres 16.", 1})
	for _, pasted := range []string{
		"It was a quiet morning on the river and nothing at all had happened so far.\n", "2026-11-02 09:14:07.123 [main] status=200 took=12ms path=/v1/berths/12\n",
	} {
		long, question := strings.Repeat(pasted, 200), "Which database do we use for the ledger of Halcyon?\n"
		given(t, s, long+question, "The ledger of Halcyon is kept in Postgres 16.")
		given(t, s, question+long, "The ledger of Halcyon is kept in Postgres 16.")
	}
}

// everyday holds things that a person may have said in some weeks.
var everyday = []said{
	{"We use pnpm in all frontend repositories.", 40},
	{"Releases are cut on Tuesdays.", 39},
	{"The ledger is kept in Postgres 16.", 38},
	{"My dog is called Pixel.", 37},
	{"Deploys services to a Kubernetes cluster on EKS.", 36},
	{"CI runs on GitHub Actions.", 35},
	{"Failed messages land in a dead letter queue and are replayed by hand.", 34},
	{"Marta has to review every change of the billing service.", 33},
	{"Please run the tests before you commit.", 32},
	{"The function was split in two because it was too long.", 31},
	{"Die Teamsitzung ist montags im Zimmer Säntis.", 30},
	{"缓存过期时间统一设为十五分钟。", 29},
	{"La base de datos de inventario es CockroachDB.", 28},
	{"Redis is only a cache here.", 27},
	{"Auth depends on Redis for its sessions.", 26},
}

func TestPromptsThatWantNothing(t *testing.T) {
	s := storeOf(t, everyday...)
	for prompt, why := range map[string]string{
		"":                             "empty",
		"go on":                        "tells what to do",
		"yes, that one":                "no word",
		"hello!":                       "no word",
		"/compact":                     "command",
		"git push origin HEAD":         "command",
		"Run the tests before release": "tells what to do",
		"Führe die Tests aus":          "tells what to do",
		"运行测试":                         "tells what to do",
		"arregla la función de redis":  "tells what to do",
		"why does this function end?":  "lies at hand",
		"```\nconst redis = new Redis()\nredis.connect()\n```": "code",
		"panic: redis: nil\n\tgoroutine 1 [running]:":          "code",
	} {
		if d := given(t, s, prompt); !strings.Contains(d.Why, why) {
			t.Errorf("%q: %q does not say %q", prompt, d.Why, why)
		}
	}
}

func TestPromptsThatWantSomething(t *testing.T) {
	s := storeOf(t, everyday...)
	for prompt, want := range map[string]int{
		"which package manager do we use in frontend repositories?": 0, "When do we cut releases?": 1, "what is the ledger kept in?": 2, "what's my dog called?": 3,
		"Who reviews changes of the billing service?": 7, "Wann ist unsere Teamsitzung?": 10, "缓存过期时间应该设多少？": 11, "¿Cuál es la base de datos de inventario?": 12,
	} {
		given(t, s, prompt, everyday[want].text)
	}
}

func TestOtherSpellingsOfANameAreFound(t *testing.T) {
	s := storeOf(t, everyday...)
	for prompt, want := range map[string]int{
		"k8s deploy": 4, "how does kube schedule our pods?": 4, "GHA secrets": 5, "how do we replay the DLQ?": 6, "Kubernets upgrade": 4, "Reedis cache eviction": 13,
	} {
		given(t, s, prompt, everyday[want].text)
	}
}

func TestARecordAboutAThingGoesBeforeOneThatNamesIt(t *testing.T) {
	d := given(t, storeOf(t, everyday...), "What are we using Redis for?", "Redis is only a cache here.")
	for _, m := range d.Missed {
		if strings.HasPrefix(m.Text, "Auth") && strings.Contains(m.Why, "more about redis") && m.Score > 1 {
			return
		}
	}
	t.Errorf("no record missed because another one is more about it: %+v", d.Missed)
}

func TestNearDuplicatesAreOneWithTheirNumber(t *testing.T) {
	s := storeOf(t, append([]said{{"Postmark sends our mail to customers.", 9}, {"Our mail to customers: Postmark sends it.", 3}, {"Postmark sends mail to our customers!", 6}}, everyday...)...)
	d := given(t, s, "who sends our mail to customers?", "Our mail to customers: Postmark sends it.")
	if len(d.Given) == 1 && d.Given[0].Count != 3 {
		t.Errorf("said %d times, not 3", d.Given[0].Count)
	}
	if text := d.Given[0].Sentence(); !strings.HasSuffix(text, "(said 3 times)") {
		t.Errorf("the line does not say how often: %s", text)
	}
}

func TestThreeLinesAreGivenAndSevenForAList(t *testing.T) {
	all := everyday
	for i := range 9 {
		all = append(all, said{[]string{
			"Zanzibar keeps the archive of the newspapers.", "Nobody but Ines may restart Zanzibar.", "Zanzibar stands in rack 14.", "The fans of Zanzibar were loud in May.", "Zanzibar has forty cores.",
			"Patches of Zanzibar wait for Sunday.", "Its twin Zanzibar runs in Oslo.", "Zanzibar was bought from Fujitsu.", "Ask Pavel about licences of Zanzibar.",
		}[i], 10 + i})
	}
	s := storeOf(t, all...)
	if n := len(ask(t, s, "what do we know about Zanzibar?").Given); n != recall.MaxLines {
		t.Errorf("%d lines, not %d", n, recall.MaxLines)
	}
	if n := len(ask(t, s, "list everything that we know about Zanzibar").Given); n != recall.MaxList {
		t.Errorf("%d lines for a list, not %d", n, recall.MaxList)
	}
}

func TestTheFloorRisesWithTheStore(t *testing.T) {
	const prompt = "Does anything speak against parsnip here and there, in the long run, for a friend of my neighbour who cooks?"
	few := []said{{"The codename of the importer is Parsnip.", 5}}
	given(t, storeOf(t, append(few, everyday...)...), prompt, few[0].text)
	var many []said
	for i := range 400 {
		many = append(many, said{"Parsnip ran with batch " + strconv.Itoa(1000+i) + " and was fine in the end.", 5})
	}
	if d := ask(t, storeOf(t, append(many, everyday...)...), prompt); len(d.Given) > 0 {
		t.Errorf("a word of most records is enough: %q", texts(d))
	}
}

// TestTheFloorCountsStatementsOnly: however many questions, orders and results about a thing were kept, the one statement about it is given, also where a
// question has a word of its own for it.
func TestTheFloorCountsStatementsOnly(t *testing.T) {
	const statement = "The harbour of Halcyon opens at six in the morning."
	s := storeOf(t, append([]said{{statement, 9}}, everyday...)...)
	var all []memory.Record
	for i := range 500 {
		for k, r := range []memory.Record{
			{Origin: memory.OriginUser, Text: fmt.Sprintf("Question %d: when does the harbour of Halcyon open?", i)},
			{Origin: memory.OriginUser, Text: fmt.Sprintf("please check the harbour of Halcyon and the harber log %d", i)},
			{Origin: memory.OriginTool, Text: fmt.Sprintf("The harbour of Halcyon has crane %d, it opens.", i)},
			{Origin: memory.OriginAgent, Text: fmt.Sprintf("The harbour of Halcyon opens at %d o'clock.", i)},
		} {
			r.Kind, r.Namespace, r.Said = memory.KindEpisode, "user", now.AddDate(0, 0, -5)
			r.Source = memory.Source{Conversation: strconv.Itoa(i), Turn: k + 1}
			all = append(all, r)
		}
	}
	if _, err := s.Add(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
	for _, prompt := range []string{"When does the harbour of Halcyon open?", "Which hours does the harber of Halcyon have?"} {
		if d := given(t, s, prompt, statement); len(d.Missed) > 3 {
			t.Errorf("%q: %d others were proposed, as %q", prompt, len(d.Missed), d.Missed[0].Text)
		}
	}
}

func TestWhatWasIsNotGivenAlone(t *testing.T) {
	s := storeOf(t, append([]said{{"Previously used SQLAlchemy for the reports.", 20}}, everyday...)...)
	d := given(t, s, "how is our SQLAlchemy setup?")
	if len(d.Missed) == 0 || !strings.Contains(d.Missed[0].Why, "no longer") {
		t.Errorf("the reason is not said: %+v", d.Missed)
	}
}

func TestTheNewestWordIsGivenWithWhatItReplaced(t *testing.T) {
	s := storeOf(t, append([]said{{"Invoices are sent by Postmark.", 25}, {"Invoices are sent by Mailgun, no longer by Postmark.", 2}}, everyday...)...)
	d := given(t, s, "who sends our invoices, Postmark?", "Invoices are sent by Mailgun, no longer by Postmark.")
	if len(d.Given) == 0 || d.Given[0].Replaced == nil || d.Given[0].Replaced.Text != "Invoices are sent by Postmark." {
		t.Fatalf("it does not say what it replaced: %+v", d.Given)
	}
	if text := d.Given[0].Sentence(); !strings.Contains(text, "2026-11-04") || !strings.Contains(text, `"Invoices are sent by Postmark."`) {
		t.Errorf("the line does not say what it replaced and when: %s", text)
	}
}

// A prompt of several sentences is read sentence by sentence: what one of them asks of the person says nothing about the words of another one,
// and words that stand together in one sentence are worth more than the same words scattered.
func TestLongPrompts(t *testing.T) {
	s := storeOf(t, everyday...)
	const lead = "A shipment of turbines got stuck yesterday because nobody filed the customs declaration, and the trucks waited outside the terminal until " +
		"midnight. Our forwarder blames a fax, the carrier blames weather, procurement blames everybody. Meanwhile the painters arrive, scaffolding and all. "
	given(t, s, lead+"Then what about the frontend repositories?", "We use pnpm in all frontend repositories.")
	given(t, s, lead+"When are the releases cut?", "Releases are cut on Tuesdays.")
	given(t, s, "The replayed animation stutters. I drew it myself. What would you do?")
	given(t, s, "Can we make this faster? The sessions are a map now. Fix it and measure.")
}

// named holds records with the names that a person gave them before the sentence.
var named = []said{
	{"language_typescript\nTypeScript\nTS\nWrites TypeScript with strict mode.", 40},
	{"mongodb_raw_driver\nMongoDB\nMongo\nmoongoose\nUses the raw driver with explicit collections.", 39},
	{"react\nReactJS\nThe frontend is React 18 with TanStack Query.", 38},
	{"kubernetes\nk8s\nDeploys services to a cluster on EKS. Uses Helm charts checked into the monorepo.", 37},
	{"turborepo_monorepo\nTurborepo\nmonorepo\nApps and packages lie in /apps and /packages.", 36},
	{"framework_fastify\nFastify\nUses it for HTTP services rather than Express.", 35},
	{"errors_explicit\nexceptions\ntry-catch\nResult type\nReturns of Go's style rather than throwing.", 34},
	{"pov_shift\npoint of view\nIt changes once, to an unnamed observer.", 33},
	{"linting_eslint\nESLint\nSwitched from TSLint to ESLint. Later replaced by Biome.", 32},
	{"dead_letter_queue\ndead letter\nDLQ\nIts items are replayed by hand.", 31},
	{"redis_cache\nRedis\nA single node.", 30},
}

// TestNamesOfRecords: what a person named a record is found by in the forms that people write names in, and in no other word that only looks like one.
func TestNamesOfRecords(t *testing.T) {
	s := storeOf(t, named...)
	for prompt, want := range map[string]int{
		"point of view config":                           7, // a word without a meaning of its own within
		"give me an example with Mongo":                  1, // behind a name that is put together of two
		"mongoose":                                       1,
		"react migration path":                           2, // not to react
		"What's React doing?":                            2,
		"try-catch config":                               6, // tells nobody to try
		"what's our try/catch setup?":                    6, // no path
		"exceptions":                                     6, // a common word, and nothing else
		"tell me about exceptions":                       6,
		"tell me about dead letter":                      9,
		"exceptions best practices":                      6,
		"how should I throw exceptions from this layer?": 6, // asks not how it is done in the world
		"Reedis eviction strategy":                       10,
		"monorepo layout":                                4,
	} {
		given(t, s, prompt, named[want].text)
	}
	for _, prompt := range []string{
		"reactor pattern", "reaction time of users", "mango smoothie", "radius server", "redistribute the load", "jester costume", "which HTTP status fits a failed validation?",
		"nobody reacted for an hour", "ESLint rule for imports", "did we move to ESLint?", "the exceptions are gone now and I like it", "what about exceptions?",
	} {
		given(t, s, prompt)
	}
}

// TestCommonWordsBesideANameAskForNothing: of a prompt that names a record, others are not given that only have its common words.
func TestCommonWordsBesideANameAskForNothing(t *testing.T) {
	s := storeOf(t, named...)
	for prompt, want := range map[string]int{
		"should I use exceptions for the new services?": 6, "should I use Turborepo for the services of the cluster?": 4, "do we use a monorepo?": 4,
	} {
		given(t, s, prompt, named[want].text)
	}
}

// TestAPromptMayListThings: a name that is a common word counts by the clause it stands in, however much else a prompt lists.
func TestAPromptMayListThings(t *testing.T) {
	s := storeOf(t, named...)
	d := ask(t, s, "Given our React frontend, the Kubernetes cluster, and the TypeScript code of the gateway, how should we approach exceptions in the data layer?")
	got := strings.Join(texts(d), "|")
	for _, i := range []int{0, 2, 3, 6} {
		if !strings.Contains(got, named[i].text) {
			t.Errorf("%q is not given: %q", named[i].text, got)
		}
	}
}

// TestARecordThatSaysMoreGoesBeforeOneOfItsWords: what meets all that another record does, and more, and is far ahead, is what is asked for.
func TestARecordThatSaysMoreGoesBeforeOneOfItsWords(t *testing.T) {
	all := []said{
		{"auth_strategy\nJWT\nsession tokens\nauth service\nauthentication\nEvaluating JWT vs session tokens for the new auth service. Not decided.", 9},
		{"auth_service_depends_on_redis\nauth redis\nsession backend\nauth\nAuth service depends on Redis for session storage.", 8},
	}
	given(t, storeOf(t, append(all, named...)...), "JWT vs session tokens for the auth service", all[0].text)
}
