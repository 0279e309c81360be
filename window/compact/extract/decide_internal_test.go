package extract

import "testing"

func TestDecisionsInManyWordsAndLanguages(t *testing.T) {
	for _, s := range []string{
		"I'm going with a queue rather than a lock, because it survives a restart.", "Decision: the parser stays synchronous.", "Final call: retries live in the client.", "After weighing both, SQLite wins.",
		"Let's not introduce a feature flag here.", "We drop the cache altogether and let the client do the retries.", "I'd rather duplicate these ten lines than share a helper.", "Deliberately no retry on 409.",
		"Ich habe mich gegen Kafka entschieden.", "Wir lassen den alten Endpunkt bestehen, damit niemand umstellen muss.", "Nous partons sur une file par locataire.", "Je préfère un index partiel.",
		"Descartamos el polling; el webhook ya existe.", "Vou usar uma fila por cliente porque evita contenção.", "Teniamo il vecchio formato per compatibilità.", "Zostajemy przy REST.",
		"Оставляем старый формат, чтобы не ломать клиентов.", "我决定用队列而不是锁，因为它更安全。", "リトライは3回までとする。", "재시도는 클라이언트에서 처리한다.", "Vi väljer Postgres framför MySQL.", "سنستخدم Redis بدلا من Kafka.",
	} {
		if d := decides(s); d < decisive {
			t.Errorf("%.1f: %s", d, s)
		}
	}
	for _, s := range []string{
		"Let me look at the parser.", "Now running the tests.", "The tests pass.", "Next I'll check the config.", "Let me check whether the cache is used because the test fails.",
		"Ich schaue mir den Code an.", "Voyons le fichier.", "Ahora miro el archivo.", "我来看看这个文件。", "",
	} {
		if d := decides(s); d >= decisive {
			t.Errorf("%.1f: %s", d, s)
		}
	}
}

// A sentence that is said again and again with other names is a way of speaking.
func TestARoutineIsNoDecision(t *testing.T) {
	var turns []Turn
	for _, name := range []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"} {
		turns = append(turns, Turn{Kind: Assistant, Text: "That is not in " + name + ", so we go on."})
	}
	turns = append(turns, Turn{Kind: Assistant, Text: "That is not for us, so we leave the index out of the first release."})
	all := lines(turns)
	weigh(all, gather(turns))
	for i, l := range all {
		if last := i == len(all)-1; last != (l.decision >= decisive) {
			t.Errorf("%.1f: %s", l.decision, l.text)
		}
	}
}
