package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
)

// In a short conversation every sentence is news. Those right before a change say why it is made, those right before a look what will be looked at.
func TestReasonsOfChangesComeBeforeAnnouncements(t *testing.T) {
	reasons := []string{
		"Seriojn ni kalkulas laŭ la tago de ricevo, ĉar la etikedoj alvenas malfrue.",
		"Anstataŭ la reta servo ni uzas la enkonstruitan vortaron por la traduko.",
		"La ŝlosado validas nur por unu breto, do la najbara kaso ne atendas.",
		"Mendoj de la pasinta jaro decidas la kvanton, somere la mezumo trompas.",
	}
	looks := []string{
		"Unue mi malfermas la libron de la provizo por vidi ties ĝeneralan strukturon.",
		"Poste mi legas kiel la elektado okazas kiam kliento petas du skatolojn samtempe.",
		"Mi serĉas ankaŭ aliajn lokojn kie tiu malnova nomo ankoraŭ povus esti menciita.",
		"Antaŭ ol diveni mi rigardas la agordojn kaj kelkajn protokolojn de la servilo.",
	}
	turns := []extract.Turn{{Kind: extract.User, Text: "Saluton, transportu la provizon."}}
	for i, reason := range reasons {
		turns = append(turns, extract.Turn{Kind: extract.Assistant, Text: looks[i]})
		turns = append(turns, step(2*i, "read_file", fmt.Sprintf(`{"path":"src/part%d.go"}`, i), "package part")...)
		turns = append(turns, extract.Turn{Kind: extract.Assistant, Text: reason})
		turns = append(turns, step(2*i+1, "edit_file", fmt.Sprintf(`{"path":"src/part%d.go","old_string":"a","new_string":"b"}`, i), "ok")...)
	}
	all := 0
	for size := 700; size < 1500; size += 20 {
		s := extract.Summarize(turns, extract.Options{Bytes: size, Messages: len(turns)}).Text
		kept := 0
		for _, reason := range reasons {
			kept += strings.Count(s, reason)
		}
		for _, look := range looks {
			if strings.Contains(s, look) && kept < len(reasons) {
				t.Fatalf("%d bytes hold what was to be looked at and %d of %d reasons:\n%s", size, kept, len(reasons), s)
			}
		}
		all = max(all, kept)
	}
	if all < len(reasons) {
		t.Errorf("%d of %d reasons", all, len(reasons))
	}
}

// The heading of a list says nothing without an item of it.
func TestAHeadingComesWithItsItems(t *testing.T) {
	head := "Restas ankoraŭ por la venonta semajno de la teamo en la filio:"
	turns := []extract.Turn{
		{Kind: extract.User, Text: "Saluton."},
		{Kind: extract.Assistant, Text: "La mendoj funkcias.\n" + head + "\n- " + strings.Repeat("provi la malnovan presilon kun tre longaj nomoj de medikamentoj ", 4)},
		{Kind: extract.User, Text: "Dankon."},
	}
	for size := extract.MinBytes; size < 1600; size += 40 {
		s := extract.Summarize(turns, extract.Options{Bytes: size, Messages: len(turns)}).Text
		if strings.Contains(s, head) && !strings.Contains(s, "provi la malnovan") {
			t.Fatalf("%d bytes: %s", size, s)
		}
	}
}

// Sentences end by the marks of their script.
func TestSentencesOfOtherScripts(t *testing.T) {
	for name, list := range map[string][2]string{
		"Devanagari": {"मराठी रसीद का नमूना अभी नहीं बना है।", "छपाई की जाँच असली प्रिंटर पर बाक़ी है।"},
		"Arabic":     {"هل تمت مراجعة سجل الطابعة القديمة؟", "بقي ربط الفرع الثاني بالخادم الجديد."},
		"Armenian":   {"Պահեստի հաշվարկը պատրաստ է բոլոր մասնաճյուղերում։", "Մնում է փորձել հին տպիչը երկրորդ հարկում։"},
		"Burmese":    {"စာရင်းအသစ်ကို အားလုံးပြောင်းပြီးပါပြီ။", "ပုံနှိပ်စက်အဟောင်းကို မစမ်းရသေးပါ။"},
	} {
		turns := []extract.Turn{
			{Kind: extract.User, Text: "x."}, {Kind: extract.Assistant, Text: list[0] + " " + list[1]}, {Kind: extract.User, Text: "y."},
		}
		s := extract.Summarize(turns, extract.Options{Bytes: 4000, Messages: 3})
		if s.Lines != 2 || !strings.Contains(s.Text, "\n- "+list[0]+" "+list[1]+"\n") {
			t.Errorf("%s: %d lines of 2: %s", name, s.Lines, s.Text)
		}
	}
}

// Names of files stand on one row and are read back from it.
func TestChangedFilesOutliveSummaries(t *testing.T) {
	paths := []string{"src/a.go", "docs/one, two.md", "ложка/б.go"}
	var turns []extract.Turn
	for i, path := range paths {
		turns = append(turns, step(i, "write_file", fmt.Sprintf(`{"file_path":%q,"content":"x\ny"}`, path), "ok")...)
	}
	first := extract.Summarize(turns, extract.Options{Bytes: 4000, Messages: 9}).Text
	again := extract.Summarize([]extract.Turn{{Kind: extract.Prior, Text: first}}, extract.Options{Bytes: 4000, Messages: 1}).Text
	if got := part(t, again, changed); got != part(t, first, changed) || !strings.Contains(got, "\n- ложка/б.go, \"docs/one, two.md\", src/a.go\n") {
		t.Errorf("%q became %q", part(t, first, changed), got)
	}
}
