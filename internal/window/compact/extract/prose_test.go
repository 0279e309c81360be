package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
)

// hungarian is a conversation in a language that the package has no word of: much that announces, and in between what matters.
func hungarian(matters []string, ends ...string) (turns []extract.Turn) {
	chat := []string{"Most megnézem a következő fájlt.", "Rákeresek, hol hívják meg ezt: %s.", "Futtatom még egyszer a teszteket.", "Folytatom.", "Megnyitom ezt is: %s."}
	for n := range 200 {
		name := fmt.Sprintf("src/part%d/rowReader%d.kt", n%9, n)
		say := chat[n%len(chat)]
		if strings.Contains(say, "%s") {
			say = fmt.Sprintf(say, name)
		}
		if n%7 == 3 && n/7 < len(matters) {
			say = matters[n/7] + " " + say
		}
		var code strings.Builder
		for i := range 40 {
			fmt.Fprintf(&code, "val total%d_%d = reader%d.sumOf(batch_%d_%d)\n", n, i, n, i, n*i)
		}
		turns = append(turns, extract.Turn{Kind: extract.Assistant, Text: say})
		turns = append(turns, step(n, "read_file", fmt.Sprintf(`{"path":%q}`, name), code.String())...)
		if n%40 == 39 && n/40 < len(ends) {
			turns = append(turns, extract.Turn{Kind: extract.Assistant, Text: ends[n/40]}, extract.Turn{Kind: extract.User, Text: "Rendben, mehet tovább."})
		}
	}
	return turns
}

// Ten sentences of one form are ten facts, and come before every identifier.
func TestSentencesComeBeforeIdentifiers(t *testing.T) {
	var matters []string
	for _, part := range []string{
		"nyomtató soros várakozása", "raktár éjszakai zárása", "futár ébresztő üzenete", "számla kerekítési hibája", "naptár ünnepi táblája", "jelszó lejárati ablaka", "térkép tükrözött vetülete", "mentés befejezetlen feltöltése", "pénztár kettős nyugtája", "címke ékezetes betűi",
	} {
		matters = append(matters, "A "+part+" miatt akadt el minden ebben a lépésben.")
	}
	matters = append(matters, "A zárat bérlőnként vesszük, nem az egész táblára, mert a beolvasó percekig tartja.", "A gyorsítótár kulcsából hiányzott a telephely száma.")
	turns := hungarian(matters)
	s := extract.Summarize(turns, extract.Options{Bytes: 5000, Messages: len(turns)}).Text
	for _, want := range matters {
		if !strings.Contains(s, want) {
			t.Errorf("lost: %s", want)
		}
	}
	if t.Failed() {
		t.Log(s)
	}
}

// What is said last before the user speaks has a place of its own, with the heading of its list; what is said between a failure
// and the next change too; and sentences that stood side by side still do.
func TestPlacesInWhichThingsAreSaid(t *testing.T) {
	turns := hungarian(nil, "Elkészült az áthelyezés. A régi végpont kikapcsolása hátravan. Ehhez jóváhagyás kell az ügyfélszolgálattól.\n\nMaradt:\n- éles próba a győri nyomtatón\n- a fordítások átnézése")
	turns = append(turns, step(900, "bash", `{"command":"./gradlew test"}`, "RowTest > keepsOrder FAILED\n    expected: 4 but was: 3\nexit code 1")...)
	turns = append(turns, extract.Turn{Kind: extract.Assistant, Text: "A rendezés elveszíti az azonos időbélyegű sorokat, ezért hiányzik egy. Javítom."})
	turns = append(turns, step(901, "edit_file", `{"path":"src/order.kt","old_string":"a","new_string":"b"}`, "ok")...)
	turns = append(turns, extract.Turn{Kind: extract.Assistant, Text: "Az üzenetsor helyett marad az adatbázis tábla, mert azt legalább mentik."})
	turns = append(turns, step(902, "read_file", `{"path":"src/queue.kt"}`, "val a = 1")...)
	turns = append(turns, extract.Turn{Kind: extract.Assistant, Text: "Végül a hordozható terminál illesztése következik."})
	turns = append(turns, step(903, "read_file", `{"path":"src/terminal.kt"}`, "val b = 1")...)
	s := extract.Summarize(turns, extract.Options{Bytes: 5000, Messages: len(turns)}).Text
	for title, want := range map[string]string{
		"Said at the end of tasks":  "- Elkészült az áthelyezés. A régi végpont kikapcsolása hátravan. Ehhez jóváhagyás kell az ügyfélszolgálattól.\n- Maradt:\n- éles próba a győri nyomtatón\n- a fordítások átnézése\n",
		"Said between a failure":    "- A rendezés elveszíti az azonos időbélyegű sorokat, ezért hiányzik egy.",
		"Decisions and findings":    "- Az üzenetsor helyett marad az adatbázis tábla, mert azt legalább mentik.\n",
		"Where it stood":            "- Végül a hordozható terminál illesztése következik.\n",
		"What commands that failed": "RowTest > keepsOrder FAILED",
	} {
		if got := part(t, s, title); !strings.Contains(got, want) {
			t.Errorf("%s: %q is not in %q", title, want, got)
		}
	}
	again := s
	for range 4 {
		more := append([]extract.Turn{{Kind: extract.Prior, Text: again}}, hungarian(nil)...)
		again = extract.Summarize(more, extract.Options{Bytes: 5000, Messages: len(more)}).Text
	}
	for _, want := range []string{"A régi végpont kikapcsolása hátravan.", "- éles próba a győri nyomtatón", "A rendezés elveszíti az azonos időbélyegű sorokat", "Az üzenetsor helyett marad az adatbázis tábla"} {
		if !strings.Contains(again, want) {
			t.Errorf("lost after five summaries: %s\n%s", want, again)
		}
	}
}

// An agent that says the same of every file says nothing of any.
func TestARoutineIsNoNews(t *testing.T) {
	turns := hungarian([]string{"A hibás vonalkódú dobozokat félretesszük, és reggel kézzel számoljuk."})
	s := extract.Summarize(turns, extract.Options{Bytes: 3000, Messages: len(turns)}).Text
	if !strings.Contains(s, "A hibás vonalkódú dobozokat félretesszük") || strings.Count(s, "Rákeresek, hol hívják meg ezt") > 2 {
		t.Error(s)
	}
}
