package heldout

import "github.com/plimsoll/plimsoll/window/wire"

// fifth are sessions of yet other commands that fail, written after the rules of failures had been mended by what was lost of the fourth set
// and before they were ever run. Half of the commands are no tests: linters, migrations, pushes, deployments.
var fifth = []script{
	{
		name: "a tram's passenger counter in Zig and Python", dialect: wire.Gemini, agent: oneEditor,
		said: []string{
			"Replace the door sensors' reader. A door event is 9 bytes on the wire and the vendor's firmware is 2.11; depot B has no network before 5 am.",
			"Counts above 400 are a broken sensor, drop the day.",
		},
		user: []string{"A door event is 9 bytes on the wire", "the vendor's firmware is 2.11", "depot B has no network before 5 am", "Counts above 400 are a broken sensor"},
		decided: map[string]string{
			"The reader blocks on one descriptor at a time; epoll bought nothing with two doors.":         "The reader blocks on one descriptor at a time",
			"Days are cut at 04:00 and not at midnight, as the last trams come home at two.":              "Days are cut at 04:00 and not at midnight",
			"Uploads wait for the depot's network. A SIM per tram would have cost more than the sensors.": "Uploads wait for the depot's network",
		},
		dirs: []string{"reader/src", "reader/src/door", "cloud/ingest", "cloud/report", "cloud/tests", "ops"}, suffix: ".py",
		stems: []string{"door", "event", "frame", "upload", "depot", "days", "cutoff", "sensor", "ingest", "report", "totals", "broken", "firmware"},
		done:  []string{"frame of 9 bytes", "cut at 04:00"},
		todo:  []string{"replay a week of depot B", "mark days with a broken sensor", "ask the vendor about firmware 2.12", "upload in the order of doors", "remove the old CSV path", "a graph for each line", "retention of 13 months", "key rotation in depot A", "count wheelchairs apart", "handbook for the workshop"},
		failing: map[string][]string{
			"zig build test": {
				"test\n└─ run test 11/12 passed, 1 failed\nerror: 'door.event.test.nine bytes are one event' failed: expected 9, found 8\n/opt/zig/lib/std/testing.zig:110:17: 0x1041f in expectEqualInner__anon_2211 (test)\n                return error.TestExpectedEqual;\n                ^\nreader/src/door/event.zig:61:5: 0x10a3c in test.nine bytes are one event (test)\n    try expectEqual(9, size);\n    ^\nBuild Summary: 1/3 steps succeeded; 1 failed; 11/12 tests passed; 1 failed",
				"nine bytes are one event", "expected 9, found 8",
			},
			"python -m pytest -q --no-header cloud/tests": {
				"..........F....                                                          [100%]\n=================================== FAILURES ===================================\n_________________________ test_day_ends_at_four _________________________\n\n    def test_day_ends_at_four():\n>       assert day_of(\"2026-03-02T03:59\") == \"2026-03-01\"\nE       AssertionError: assert '2026-03-02' == '2026-03-01'\n\ncloud/tests/test_days.py:28: AssertionError\n=========================== short test summary info ============================\nFAILED cloud/tests/test_days.py::test_day_ends_at_four - AssertionError: assert '2026-03-02' == '2026-03-01'\n1 failed, 14 passed in 0.31s",
				"test_days.py::test_day_ends_at_four", "assert '2026-03-02' == '2026-03-01'",
			},
			"flake8 cloud": {
				"cloud/report/totals.py:14:1: F401 'decimal.Decimal' imported but unused\ncloud/ingest/upload.py:77:13: B007 Loop control variable 'door' not used within the loop body",
				"'decimal.Decimal' imported but unused", "Loop control variable 'door' not used",
			},
			"git push origin counter-v2": {
				"To git.depot.example:tram/counter.git\n ! [rejected]        counter-v2 -> counter-v2 (non-fast-forward)\nerror: failed to push some refs to 'git.depot.example:tram/counter.git'\nhint: Updates were rejected because the tip of your current branch is behind\nhint: its remote counterpart.",
				"counter-v2 -> counter-v2 (non-fast-forward)",
			},
			"alembic upgrade head": {
				"INFO  [alembic.runtime.migration] Context impl PostgresqlImpl.\nINFO  [alembic.runtime.migration] Will assume transactional DDL.\nINFO  [alembic.runtime.migration] Running upgrade 8c1f -> 91d2, broken days\nsqlalchemy.exc.ProgrammingError: (psycopg.errors.UndefinedColumn) column \"broken\" of relation \"day\" does not exist\nLINE 1: UPDATE day SET broken = true WHERE count > 400\n                       ^\n[SQL: UPDATE day SET broken = true WHERE count > 400]",
				"column \"broken\" of relation \"day\" does not exist",
			},
			"shellcheck ops/night.sh": {
				"\nIn ops/night.sh line 12:\nrm -rf $SPOOL/old\n       ^----^ SC2086 (info): Double quote to prevent globbing and word splitting.\n\nFor more information:\n  https://www.shellcheck.net/wiki/SC2086 -- Double quote to prevent globbing",
				"ops/night.sh line 12", "SC2086 (info): Double quote to prevent globbing",
			},
		},
		passed: map[string][]string{"ruff format --check cloud": {"Would reformat: cloud/report/report.py\n1 file would be reformatted, 22 files already formatted", "23 files already formatted"}},
		code:   []string{"def %s(%s: %s, %s: %s) -> %s:", "    %s = %s.%s(%s)", "    if not %s.%s:", "        return %s(%s)", "    for %s in %s.%s():", "from %s.%s import %s", "    # %s of %s", "class %s(%s):"},
	},
	{
		name: "a seed bank's catalogue in Perl, Lua and R", dialect: wire.Messages, agent: symbols,
		said: []string{
			"Move the germination trials into the new catalogue. Lot numbers never get reused, and vault 3 is at minus 20, not minus 18. Reports go to Ms Okafor as CSV with semicolons.",
			"No trial shorter than 21 days counts.",
		},
		user: []string{"Lot numbers never get reused", "vault 3 is at minus 20, not minus 18", "CSV with semicolons", "No trial shorter than 21 days counts"},
		decided: map[string]string{
			"Taxon names are stored as they were written on the packet, beside the accepted name.":    "Taxon names are stored as they were written on the packet",
			"I'm leaving the R models alone and only feed them a view with the old columns.":          "only feed them a view with the old columns",
			"A withdrawn lot stays in the table, because the treaty wants it traceable for 50 years.": "A withdrawn lot stays in the table",
		},
		dirs: []string{"lib/Seed/Lot", "lib/Seed/Trial", "gateway/lua", "models/R", "t", "deploy/chart"}, suffix: ".pm",
		stems: []string{"Lot", "Trial", "Taxon", "Vault", "Withdrawal", "Report", "Treaty", "Viability", "Packet", "Import", "Csv", "Climate", "Accession"},
		done:  []string{"lots with numbers that stay", "taxon names from packets"},
		todo:  []string{"trials of 20 days out of the mean", "temperature log of vault 3", "semicolons in Ms Okafor's report", "treaty number on withdrawals", "duplicates from the 1987 import", "alarm at minus 15", "photos of packets", "index on accession", "second person confirms a withdrawal", "translate the labels"},
		failing: map[string][]string{
			"prove -lr t": {
				"t/lot.t ....... ok\nt/trial.t ..... 1/?\n#   Failed test 'twenty days do not count'\n#   at t/trial.t line 44.\n#          got: '1'\n#     expected: '0'\n# Looks like you failed 1 test of 9.\nt/trial.t ..... Dubious, test returned 1 (wstat 256, 0x100)\nFailed 1/9 subtests\n\nTest Summary Report\n-------------------\nt/trial.t   (Wstat: 256 (exited 1) Tests: 9 Failed: 1)\n  Failed test:  6\nResult: FAIL",
				"Failed test 'twenty days do not count'", "at t/trial.t line 44",
			},
			"busted gateway/lua": {
				"●●●◼●\n4 successes / 1 failure / 0 errors / 0 pending : 0.012 seconds\n\nFailure → gateway/lua/spec/csv_spec.lua @ 17\ncsv writer puts semicolons between columns\ngateway/lua/spec/csv_spec.lua:19: Expected objects to be equal.\nPassed in:\n(string) 'lot,taxon'\nExpected:\n(string) 'lot;taxon'",
				"csv writer puts semicolons between columns", "Expected objects to be equal",
			},
			"Rscript -e 'devtools::test()'": {
				"ℹ Testing seedmodels\n✔ | F W  S  OK | Context\n✖ | 1        6 | viability\n────────────────────────\nFailure (test-viability.R:31:3): minus twenty is colder than minus eighteen\n`decay(-20)` is not strictly less than `decay(-18)`. Difference: 0.002\n────────────────────────\n══ Results ═════════════\n[ FAIL 1 | WARN 0 | SKIP 0 | PASS 6 ]",
				"minus twenty is colder than minus eighteen", "is not strictly less than",
			},
			"helm upgrade --install seed deploy/chart --wait": {
				"Release \"seed\" does not exist. Installing it now.\nError: INSTALLATION FAILED: template: seed/templates/vault.yaml:14:21: executing \"seed/templates/vault.yaml\" at <.Values.vault.three>: nil pointer evaluating interface {}.three",
				"nil pointer evaluating interface {}.three",
			},
			"perl -Ilib bin/import 1987.dat": {
				"read 12000 rows\nread 13000 rows\nlot 1987-0441 has been used before, in 1986 at lib/Seed/Lot/Import.pm line 203, <$fh> line 13377.",
				"lot 1987-0441 has been used before",
			},
			"luacheck gateway/lua": {
				"Checking gateway/lua/csv.lua                      2 warnings\n\n    gateway/lua/csv.lua:9:7: unused variable 'separator'\n    gateway/lua/csv.lua:30:3: setting non-standard global variable 'buffer'\n\nTotal: 2 warnings / 0 errors in 6 files",
				"unused variable 'separator'", "setting non-standard global variable 'buffer'",
			},
		},
		passed: map[string][]string{"perlcritic lib": {"lib/Seed/Lot/Csv.pm: Two-argument \"open\" used at line 12, column 1. (Severity: 5)", "lib source OK"}},
		code:   []string{"sub %s ($%s, $%s) {", "    my $%s = %s->%s($%s);", "    die \"%s\" unless $%s->%s;", "    return map { $_->{%s} } @{ $%s };", "}", "use %s::%s qw(%s);", "# %s of %s", "    $self->{%s} //= %s($%s);"},
	},
	{
		name: "a night bus in OCaml and PowerShell", dialect: wire.Chat, agent: sidebar,
		said:    []string{"Le bus de nuit N7 ne s'arrête plus à Gare-Nord. Le simulateur tourne sur le port 6180.", "Rien ne part en production avant le 9 avril."},
		user:    []string{"N7 ne s'arrête plus à Gare-Nord", "tourne sur le port 6180", "Rien ne part en production avant le 9 avril"},
		decided: map[string]string{"On garde l'ancien identifiant d'arrêt, les bornes l'affichent tel quel.": "On garde l'ancien identifiant d'arrêt", "The planner returns a list and never a tree; the signs can only scroll.": "The planner returns a list and never a tree"},
		dirs:    []string{"planner/lib", "planner/test", "signs/src", "ops/win", "sim"}, suffix: ".ml",
		stems: []string{"stop", "route", "night", "sign", "planner", "delay", "calendar", "fare", "segment", "board", "holiday", "depot", "transfer"},
		done:  []string{"retirer Gare-Nord", "liste à plat"},
		todo:  []string{"bornes de la place Carnot", "retard annoncé après 4 minutes", "jours fériés de 2027", "essai de nuit avec un vrai bus", "script de retour arrière", "arrondir à la minute", "police de 7 points", "journal des bornes", "arrêt sur demande", "note pour les chauffeurs"},
		failing: map[string][]string{
			"ansible-playbook ops/depot.yml --limit depot-b": {
				"PLAY [depots] ******\n\nTASK [Gathering Facts] ******\nok: [depot-b]\n\nTASK [install the reader] ******\nfatal: [depot-b]: FAILED! => {\"changed\": false, \"msg\": \"No package matching 'libgpiod3' is available\"}\n\nPLAY RECAP ******\ndepot-b : ok=1 changed=0 unreachable=0 failed=1 skipped=0",
				"No package matching 'libgpiod3' is available",
			},
			"docker build -t seed .": {
				"#7 [3/6] RUN cpanm --installdeps .\n#7 12.41 --> Working on Text::CSV_XS\n#7 14.02 ! Installing Text::CSV_XS failed. See /root/.cpanm/build.log for details.\n#7 ERROR: process \"/bin/sh -c cpanm --installdeps .\" did not complete successfully: exit code: 1\n------\n > [3/6] RUN cpanm --installdeps .:\n------\nDockerfile:9\nERROR: failed to solve: process \"/bin/sh -c cpanm --installdeps .\" did not complete successfully: exit code: 1",
				"Installing Text::CSV_XS failed",
			},
			"curl -fsS -X POST http://127.0.0.1:3000/lots -d @lot.json": {
				"curl: (22) The requested URL returned error: 422",
				"The requested URL returned error: 422",
			},
			"dune build": {
				"File \"planner/lib/night.ml\", line 40, characters 12-20:\n40 |   let next = List.hd stops in\n                 ^^^^^^^\nError: This expression has type Stop.t list option\n       but an expression was expected of type Stop.t list",
				"This expression has type Stop.t list option",
			},
			"pwsh -c Invoke-Pester": {
				"Starting discovery in 3 files.\nRunning tests.\n[-] Sign.shows the delay only after four minutes 31ms (28ms|3ms)\n Expected: 'à l''heure'\n But was:  '+3 min'\n at $shown | Should -Be 'à l''heure', /ops/win/Sign.Tests.ps1:24\nTests completed in 412ms\nTests Passed: 8, Failed: 1, Skipped: 0 NotRun: 0",
				"Sign.shows the delay only after four minutes", "'+3 min'",
			},
		},
		passed: map[string][]string{"dune fmt": {"File \"planner/lib/fare.ml\", line 1, characters 0-0:\n--- planner/lib/fare.ml\n+++ planner/lib/.formatted/fare.ml", "(no output)"}},
		code:   []string{"let %s %s = %s.%s %s", "  match %s with", "  | Some %s -> %s (%s)", "  | None -> Error `%s", "module %s = %s.Make (%s)", "open %s", "(* %s of %s *)", "  |> List.map %s.%s"},
	},
}
