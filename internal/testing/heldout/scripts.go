package heldout

import "github.com/plimsoll/plimsoll/window/wire"

var scripts = []script{
	{
		name: "a billing service in Go", dialect: wire.Messages, agent: claudeCode,
		said: []string{
			"We move the invoice export to the new ledger. The staging ledger listens on port 18443, and invoices older than 1 April 2019 are out of scope. Please keep the public names of package export as they are: Marta's team imports them.",
			"One more thing: rounding is half even, never half up, legal insists. And the tenant called kestrel-north must not be touched by any script.",
			"Wenn du Tests laufen lässt, dann bitte mit -count=1, der Cache hat uns letzte Woche einen Tag gekostet. Die Beträge sind in Zehntelcent.",
			"The nightly job starts at 02:40 Lisbon time, so nothing that locks the table then. I already told Priya that the CSV has 14 columns.",
			"Looks fine. Ignore the red badge on the dashboard, it is about another branch (feature/gull).",
		},
		user: []string{
			"listens on port 18443", "invoices older than 1 April 2019 are out of scope", "keep the public names of package export as they are", "rounding is half even, never half up",
			"kestrel-north must not be touched", "bitte mit -count=1", "Die Beträge sind in Zehntelcent", "02:40 Lisbon time", "the CSV has 14 columns", "feature/gull",
		},
		decided: map[string]string{
			"The old exporter holds a transaction open while it writes; I'll stream from a snapshot read instead, otherwise the nightly lock gets in the way.": "stream from a snapshot read instead",
			"Two ways: widen the column or store the scale beside it. Storing the scale wins, since the reports join on the amount.":                           "Storing the scale wins, since the reports join on the amount",
			"I considered retry with jitter at the client, but the ledger deduplicates by key anyway, so a plain retry is enough here.":                        "so a plain retry is enough here",
			"Leaving ledger.Entry unexported for now: exporting it would freeze fields that the migration still renames.":                                      "exporting it would freeze fields that the migration still renames",
			"Ich nehme für die Sortierung den Buchungstag und nicht das Rechnungsdatum, weil Stornos sonst vor ihrer Rechnung stünden.":                        "den Buchungstag und nicht das Rechnungsdatum",
			"The generator runs in CI only. That avoids a protoc on every laptop, and the checked-in files are what we review.":                                "The generator runs in CI only",
			"Dropping the in-memory queue. With at-least-once delivery from the broker it only hides failures.":                                                "it only hides failures",
			"Going with an advisory lock per tenant rather than a table lock, so that one slow tenant holds up nobody else.":                                   "advisory lock per tenant rather than a table lock",
			"No feature flag for this: the two code paths would have to be tested against each other for months.":                                              "the two code paths would have to be tested against each other",
			"So the checksum covers the header too; a truncated file was accepted as empty before.":                                                            "the checksum covers the header too",
		},
		dirs: []string{"export", "internal/ledger", "internal/ledger/snapshot", "cmd/exporter", "migrate", "report/csv", "billing"}, suffix: ".go",
		stems: []string{"reader", "writer", "columns", "scale", "tenant", "lock", "retry", "checksum", "header", "rows", "amount", "rounding", "job", "options", "errors", "stream"},
		done:  []string{"Read the old exporter", "Write down the columns", "Snapshot read behind an interface", "Amounts with their scale", "Advisory lock for each tenant", "Checksum over header and rows"},
		todo: []string{
			"Backfill the scale for rows before the migration", "Remove export.LegacyWriter once Marta's team has moved", "Alert when the job is not done by 04:15", "Benchmark the snapshot against 40 million rows",
			"Document the fourteen columns in report/README", "Ask legal about credit notes in foreign currency", "Delete the temporary table ledger_tmp_export", "Fold the two retry helpers into one",
			"Run the exporter against staging with a copy of May", "Tell operations about the new exit codes",
		},
		failing: map[string][]string{
			"go test -count=1 ./export/...": {
				"--- FAIL: TestColumnsAreFourteen (0.00s)\n    columns_test.go:41: got 13 columns, the delivery note is missing\n--- PASS: TestHeader (0.00s)\nFAIL\nFAIL\texample.com/billing/export\t0.412s\nFAIL",
				"TestColumnsAreFourteen", "got 13 columns, the delivery note is missing",
			},
			"go test -count=1 -run Rounding ./billing/": {
				"--- FAIL: TestRoundingIsHalfEven (0.01s)\n    --- FAIL: TestRoundingIsHalfEven/2.5_cents (0.00s)\n        rounding_test.go:77: 25 tenths became 3 cents, want 2\nFAIL\nexit status 1",
				"25 tenths became 3 cents, want 2",
			},
			"golangci-lint run ./migrate/...": {
				"migrate/lock.go:118:9: SA4006: this value of tenantLease is never used (staticcheck)\nmigrate/job.go:20:1: cyclomatic complexity 31 of func `settleAll` is high (gocyclo)\n2 issues:\n* gocyclo: 1\n* staticcheck: 1",
				"this value of tenantLease is never used",
			},
		},
		passed: map[string][]string{
			"go vet ./...":                  {"# example.com/billing/report/csv\nreport/csv/rows.go:88:14: undefined: columnScaleOf", "ok"},
			"go test ./internal/ledger/...": {"--- FAIL: TestSnapshotSeesNoLaterRow (0.20s)\n    snapshot_test.go:19: row 1204 came after the snapshot\nFAIL", "ok  \texample.com/billing/internal/ledger\t0.318s"},
		},
		code: []string{"func (r *%s) %s(ctx context.Context, %s string) (*%s, error) {", "\tif err := %s.%s(ctx); err != nil {", "\t\treturn nil, fmt.Errorf(\"%s: %%w\", err)", "\t}", "\t%s := %s.%s[%s]", "}", "// %s tells %s of %s.", "type %s struct{ %s, %s int64 }"},
	},
	{
		name: "a shop in TypeScript", dialect: wire.Gemini, agent: geminiCLI,
		said: []string{
			"Bitte stell den Warenkorb auf die neue Preis-API um. Sie läuft lokal auf http://localhost:7077 und der Mandant heißt nordlicht-test. Gutscheine dürfen nie unter einen Warenkorbwert von 3,50 Euro führen.",
			"Übrigens: Die Komponente PriceBadge gehört dem Designteam, da bitte nichts ändern. Node bleibt auf 20, nicht 22.",
			"Ich habe gerade gesehen, dass die Übersetzungen für Dänisch fehlen, die liefert Frau Holm am Donnerstag nach. Bis dahin Englisch zeigen.",
			"Noch ein Wunsch: keine neuen Abhängigkeiten außer zod. Und das Tracking-Ereignis heißt weiterhin cart_price_seen.",
			"Passt so weit. Die Rabattstaffel beginnt bei 12 Stück, nicht bei 10, das steht in der Doku falsch.",
		},
		user: []string{
			"http://localhost:7077", "nordlicht-test", "nie unter einen Warenkorbwert von 3,50 Euro", "PriceBadge gehört dem Designteam", "Node bleibt auf 20, nicht 22", "liefert Frau Holm am Donnerstag nach",
			"Bis dahin Englisch zeigen", "keine neuen Abhängigkeiten außer zod", "cart_price_seen", "beginnt bei 12 Stück, nicht bei 10",
		},
		decided: map[string]string{
			"Ich rechne die Preise serverseitig und reiche nur das Ergebnis durch; im Browser würden zwei Tabs verschiedene Summen zeigen.": "im Browser würden zwei Tabs verschiedene Summen zeigen",
			"Statt die alte Route zu ändern, bekommt die neue API ein eigenes Modul. So lässt sich beides nebeneinander vergleichen.":       "bekommt die neue API ein eigenes Modul",
			"The coupon check moves before tax: after tax the 3.50 floor would depend on the country.":                                      "The coupon check moves before tax",
			"Ein Cache lohnt sich hier nicht, die API antwortet in 8 ms und veraltete Preise wären schlimmer.":                              "veraltete Preise wären schlimmer",
			"zod prüft nur am Rand. Innen reichen die Typen, sonst prüfen wir jede Zeile viermal.":                                          "zod prüft nur am Rand",
			"Für den Vergleich der Summen nehme ich ganze Cent, Gleitkommazahlen haben uns in der Kasse schon einmal geärgert.":             "Für den Vergleich der Summen nehme ich ganze Cent",
			"We'd rather fail the checkout than show an old price, hence no fallback to yesterday's list.":                                  "We'd rather fail the checkout than show an old price",
			"Der Snapshot-Test fliegt raus; er bricht bei jedem Abstand und hat noch nie einen Fehler gefunden.":                            "hat noch nie einen Fehler gefunden",
			"Die Staffel liegt als Tabelle im Code und nicht in der Datenbank, weil sie sich nur mit dem Vertrag ändert.":                   "Die Staffel liegt als Tabelle im Code",
			"Lazy loading of the drawer stays off until the layout shift is understood.":                                                    "stays off until the layout shift is understood",
		},
		dirs: []string{"src/cart", "src/cart/price", "src/api/pricing", "src/components/drawer", "src/i18n", "server/routes", "test/cart"}, suffix: ".ts",
		stems: []string{"total", "coupon", "tier", "client", "schema", "floor", "tax", "badge", "drawer", "locale", "track", "session", "quote", "line", "merge", "format"},
		done:  []string{"Alte Preisroute lesen", "Modul für die neue API", "Summen in Cent", "Gutscheine vor der Steuer", "Staffel ab zwölf"},
		todo: []string{
			"Dänische Texte einsetzen, sobald sie da sind", "Vergleichslauf alter und neuer Summen über eine Woche", "Fehlerseite, wenn die Preis-API schweigt", "Route /v1/prices mit 410 beantworten",
			"Tracking im Drawer nachziehen", "Barrierefreiheit der Staffelanzeige prüfen", "Rundung bei Sammelbestellungen klären", "Storybook-Eintrag für leere Körbe", "Alte Typen PriceV1 entfernen", "Lasttest mit 300 Körben",
		},
		failing: map[string][]string{
			"npx vitest run test/cart": {
				" ❯ test/cart/floor.test.ts (4 tests | 1 failed)\n   × hält den Mindestwert von 3,50 ein\n     → expected 349 to be greater than or equal to 350\n Test Files  1 failed | 6 passed (7)\n      Tests  1 failed | 31 passed (32)",
				"hält den Mindestwert von 3,50 ein", "expected 349 to be greater than or equal to 350",
			},
			"npx tsc --noEmit": {
				"server/routes/quote.ts(52,17): error TS2345: Argument of type 'TierRow | undefined' is not assignable to parameter of type 'TierRow'.\nFound 1 error in server/routes/quote.ts:52",
				"error TS2345: Argument of type 'TierRow | undefined'",
			},
			"npx playwright test drawer": {
				"  1) [webkit] › drawer.spec.ts:18:5 › drawer keeps focus ─────────\n    Error: expect(locator).toBeFocused() failed\n    Locator: getByRole('button', { name: 'Weiter zur Kasse' })\n  1 failed\n  11 passed (24.0s)",
				"drawer keeps focus", "Weiter zur Kasse",
			},
		},
		passed: map[string][]string{
			"npx eslint src":       {"src/cart/merge.ts\n  14:7  error  'oldQuote' is assigned a value but never used  @typescript-eslint/no-unused-vars\n✖ 1 problem", "(no output)"},
			"npm run build:server": {"✘ [ERROR] Could not resolve \"./pricing/legacy\"\n    server/routes/session.ts:3:22", "done in 1.1s"},
		},
		code: []string{"export async function %s(%s: %s): Promise<%s> {", "  const %s = await %s.%s(%s);", "  if (!%s) throw new %s('%s');", "  return { ...%s, %s: %s };", "}", "import { %s, %s } from './%s';", "/** %s of %s */", "type %s = { %s: string; %s?: number };"},
	},
	{
		name: "a crawler in Python", dialect: wire.Responses, agent: codex,
		said: []string{
			"Port the crawler to asyncio. It must never open more than 6 connections to one host, and the archive at /mnt/vault/crawl-2024 is read-only for us. The deadline is Thursday noon.",
			"Please call the new flag --politeness, marketing has printed it already. And the user agent string stays Heronbot/2.4.",
			"D'ailleurs, les tests d'intégration utilisent le serveur de Lyon, pas celui de Gand. Le mot de passe change chaque lundi, donc ne le mets nulle part.",
			"By the way robots.txt is cached for 25 minutes, not an hour; the university complained. We log in UTC only.",
			"OK. If in doubt about memory: the box has 3 GiB and shares it with Postgres.",
		},
		user: []string{
			"never open more than 6 connections to one host", "/mnt/vault/crawl-2024 is read-only", "The deadline is Thursday noon", "call the new flag --politeness", "Heronbot/2.4", "utilisent le serveur de Lyon, pas celui de Gand",
			"Le mot de passe change chaque lundi", "cached for 25 minutes, not an hour", "We log in UTC only", "the box has 3 GiB and shares it with Postgres",
		},
		decided: map[string]string{
			"A semaphore per host it is, not a global one: with a global one a slow host starves the rest.":               "A semaphore per host it is, not a global one",
			"I won't touch the parser in this change; it is synchronous but takes 2 ms a page.":                           "I won't touch the parser in this change",
			"aiohttp instead of httpx here: the streaming upload of httpx buffers whole bodies on this version.":          "the streaming upload of httpx buffers whole bodies",
			"Frontier state goes to SQLite. A pickle would be lost with the first kill -9, and Postgres is not ours.":     "Frontier state goes to SQLite",
			"Je garde l'ordre d'arrivée pour les redirections, sinon on ne peut plus rejouer une session.":                "Je garde l'ordre d'arrivée pour les redirections",
			"Decided against a worker pool: the time is all in waiting, so tasks are cheaper and easier to cancel.":       "Decided against a worker pool",
			"Timeouts become a single deadline for the whole fetch, because connect plus read added up to four minutes.":  "a single deadline for the whole fetch",
			"The dedup set is a Bloom filter now. One page in ten thousand fetched twice is fine, 900 MB of URLs is not.": "The dedup set is a Bloom filter now",
			"We keep gzip bodies as they came and unpack at read time; unpacked, the archive would not fit.":              "keep gzip bodies as they came and unpack at read time",
			"Cancellation has to drain the queue first. Otherwise the last batch is recorded as seen and never fetched.":  "Cancellation has to drain the queue first",
		},
		dirs: []string{"heron/fetch", "heron/frontier", "heron/robots", "heron/archive", "tests/unit", "tests/integration", "scripts"}, suffix: ".py",
		stems: []string{"session", "limits", "queue", "dedup", "deadline", "redirects", "cache", "rules", "store", "index", "resume", "stats", "cli", "bloom", "gzip_io", "errors"},
		done:  []string{"inventory of blocking calls", "host semaphore", "single deadline", "robots cache of 25 minutes", "frontier in SQLite", "bloom filter"},
		todo: []string{
			"replay last week's crawl and compare the counts", "drop the thread pool from scripts/backfill", "teach stats to count cancelled fetches", "measure peak memory beside Postgres", "write the note for the university",
			"warn when a host answers 429 three times", "move the cookie jar out of session", "type hints for heron.robots", "remove requests from the lock file", "a man page for --politeness",
		},
		failing: map[string][]string{
			"pytest -q tests/unit": {
				"F.......                                     [100%]\n=================================== FAILURES ===================================\n_______________________ test_sixth_connection_waits ________________________\n>       assert host.open == 6\nE       AssertionError: assert 7 == 6\ntests/unit/limits.py:64: AssertionError\n=========================== short test summary info ============================\nFAILED tests/unit/limits.py::test_sixth_connection_waits - AssertionError: assert 7 == 6\n1 failed, 7 passed in 0.84s",
				"test_sixth_connection_waits", "assert 7 == 6",
			},
			"mypy heron": {
				"heron/archive/gzip_io.py:33: error: Incompatible return value type (got \"memoryview\", expected \"bytes\")  [return-value]\nFound 1 error in 1 file (checked 48 source files)",
				"got \\\"memoryview\\\", expected \\\"bytes\\\"",
			},
			"python -m heron --politeness 3 http://127.0.0.1:9/": {
				"Traceback (most recent call last):\n  File \"/workspace/heron/cli.py\", line 71, in main\n    asyncio.run(crawl(opts))\n  File \"/workspace/heron/frontier/resume.py\", line 29, in reopen\n    raise FrontierLocked(path)\nheron.errors.FrontierLocked: /var/tmp/heron.db is held by pid 4117",
				"FrontierLocked: /var/tmp/heron.db is held by pid 4117",
			},
		},
		passed: map[string][]string{
			"ruff check heron":                    {"heron/fetch/redirects.py:12:8: F401 `urllib.parse` imported but unused\nFound 1 error.", "All checks passed!"},
			"pytest -q tests/integration -k lyon": {"FAILED tests/integration/rules.py::test_lyon_says_no - TimeoutError\n1 failed in 30.02s", "3 passed in 4.10s"},
		},
		code: []string{"async def %s(self, %s: %s) -> %s:", "    async with self._%s.%s(%s) as %s:", "        %s = await %s.%s()", "        raise %s(%s)", "    return %s[%s]", "class %s(%s):", "    \"\"\"%s for %s.\"\"\"", "    %s = %s.%s if %s else None"},
	},
	{
		name: "a firmware tool in Rust", dialect: wire.Chat, agent: harbour,
		said: []string{
			"ファームウェア更新ツールを tokio に移してください。シリアル速度は 921600 固定、ブートローダは 0x08000000 から始まります。署名鍵は HSM だけに置くこと。",
			"Note for you: devices with serial numbers below 4400 have the old flash layout, skip them. The lab is in Osaka, so please no updates between 9 and 18 JST.",
			"CI のランナーは 2 コアしかないので、テストは 90 秒以内でお願いします。それから田中さんのブランチ release/7.2 には触らないでください。",
			"The vendor confirmed: erase takes up to 11 seconds on the big parts, do not lower that timeout. Error codes start at 40.",
			"了解です。ログは英語のままで。",
		},
		user: []string{
			"シリアル速度は 921600 固定", "0x08000000 から始まります", "署名鍵は HSM だけに置くこと", "serial numbers below 4400 have the old flash layout", "no updates between 9 and 18 JST", "テストは 90 秒以内",
			"release/7.2 には触らないで", "erase takes up to 11 seconds on the big parts", "Error codes start at 40", "ログは英語のままで",
		},
		decided: map[string]string{
			"分割書き込みは 4 KiB 単位にします。2 KiB だと消去が二重に走るためです。":                                                                    "分割書き込みは 4 KiB 単位にします",
			"Using tokio-serial directly, without the actor layer; one port has one owner anyway.":                          "without the actor layer; one port has one owner anyway",
			"The CRC is computed on the host and checked on the device, as the other way round cost a round trip per page.": "The CRC is computed on the host and checked on the device",
			"A retry never re-sends the erase. If the device is half erased we stop and say so.":                            "A retry never re-sends the erase",
			"anyhow は使わず、エラー型を自前で持ちます。終了コードを決める必要があるからです。":                                                                  "エラー型を自前で持ちます",
			"I'm making the progress bar opt-in: in the lab's terminal it slows the link down measurably.":                  "making the progress bar opt-in",
			"Resuming goes by the page map that the device keeps, not by our own file, which may be from another device.":   "Resuming goes by the page map that the device keeps",
			"署名の検証は書き込みの前に全部済ませます。途中で止めると起動できない機器が残ります。":                                                                    "署名の検証は書き込みの前に全部済ませます",
			"Feature `mock-port` leaves the default set; it pulled in 40 crates for two tests.":                             "it pulled in 40 crates for two tests",
			"Blocking file reads stay. Images are 2 MB and in the page cache, spawn_blocking would only add noise.":         "Blocking file reads stay",
		},
		dirs: []string{"crates/port/src", "crates/flash/src", "crates/sign/src", "crates/cli/src", "crates/cli/src/commands", "xtask/src", "crates/flash/tests"}, suffix: ".rs",
		stems: []string{"link", "frame", "erase", "page_map", "crc", "resume", "layout", "verify", "hsm", "errors", "progress", "timeouts", "probe", "plan", "report", "args"},
		done:  []string{"シリアル層を tokio に移す", "ページ表の読み出し", "署名の事前検証", "終了コードを 40 から振る", "再開処理"},
		todo: []string{
			"古い配置の機器を一覧から外す警告", "erase のタイムアウトを型で表す", "HSM が無い時の説明文", "実機 3 台での通し試験", "crates/port の doc テスト", "進捗表示を --progress に", "夜間ジョブの時刻を JST で書く", "失敗時のページ表を保存する",
			"未使用の mock-port を消す", "リリースノートの下書き",
		},
		failing: map[string][]string{
			"cargo test -p flash": {
				"running 9 tests\ntest resume::tests::stops_when_half_erased ... FAILED\nfailures:\n---- resume::tests::stops_when_half_erased stdout ----\nthread 'resume::tests::stops_when_half_erased' panicked at crates/flash/src/resume.rs:143:9:\nassertion `left == right` failed\n  left: Erased(12)\n right: HalfErased(12)\ntest result: FAILED. 8 passed; 1 failed; 0 ignored",
				"stops_when_half_erased", "right: HalfErased(12)",
			},
			"cargo clippy -- -D warnings": {
				"error: this function has too many arguments (9/7)\n  --> crates/cli/src/commands/plan.rs:22:1\n   |\n22 | pub fn plan_update(\n   = note: `-D clippy::too-many-arguments` implied by `-D warnings`\nerror: could not compile `cli` (bin \"cli\") due to 1 previous error",
				"this function has too many arguments (9/7)", "crates/cli/src/commands/plan.rs:22:1",
			},
			"cargo run -p xtask -- sign-check": {
				"Error: HSM slot 3 answered CKR_PIN_LOCKED (exit 44)",
				"CKR_PIN_LOCKED",
			},
		},
		passed: map[string][]string{
			"cargo build --workspace": {"error[E0382]: borrow of moved value: `frame`\n  --> crates/port/src/link.rs:81:23", "    Finished `dev` profile in 6.31s"},
			"cargo test -p port":      {"test link::tests::keeps_order ... FAILED\nassertion failed: seq.is_sorted()", "test result: ok. 14 passed; 0 failed"},
		},
		code: []string{"pub async fn %s(&mut self, %s: &%s) -> Result<%s, %s> {", "    let %s = self.%s.%s(%s).await?;", "    if %s.%s() < %s { return Err(%s::%s); }", "    Ok(%s { %s, %s })", "}", "use crate::%s::{%s, %s};", "/// %s of a %s.", "impl %s for %s {}"},
	},
}
