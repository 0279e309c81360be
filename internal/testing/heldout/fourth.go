package heldout

import (
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// fourth are sessions with tools that no other set has: an editor's extension, an agent that edits symbols, one whose single editing tool
// takes a command. They were written by somebody who had not read the extractor, and before they were ever run.
var fourth = []script{
	{
		name: "a ferry timetable in Kotlin and PHP", dialect: wire.Messages, agent: sidebar,
		said: []string{
			"Precisamos migrar o painel dos horários para o novo feed GTFS. A balsa da Ilha do Mel não circula com maré abaixo de 0,40 m, e o feed antigo sai do ar no dia 14 de junho. O banco de homologação fica em 10.8.3.21, porta 5544.",
			"Make sure the kiosk app still starts offline. The kiosks have 512 MB and Android 9, we can't replace them this year.",
			"Só um detalhe: passageiros com bicicleta pagam 7,50 e contam como 2 lugares.",
			"The port authority only accepts departures in local time with an explicit offset, e.g. -03:00; Z gets rejected.",
			"E por favor não renomeie o endpoint /embarque/v2, os totens têm isso gravado.",
		},
		user: []string{
			"não circula com maré abaixo de 0,40 m", "sai do ar no dia 14 de junho", "10.8.3.21, porta 5544", "the kiosk app still starts offline", "512 MB and Android 9", "passageiros com bicicleta pagam 7,50",
			"contam como 2 lugares", "local time with an explicit offset", "Z gets rejected", "não renomeie o endpoint /embarque/v2",
		},
		decided: map[string]string{
			"Vou manter o cache em arquivo; com Room o totem leva 9 segundos para abrir.":                                           "Vou manter o cache em arquivo",
			"Tide data gets its own table. Joining it into trips would rewrite 30,000 rows every ten minutes.":                      "Tide data gets its own table",
			"The simplest thing that works is a nightly full import, so I'm dropping the incremental one.":                          "a nightly full import",
			"Prefiro recusar a compra a vender um lugar que não existe, então a reserva bloqueia a linha da viagem.":                "a reserva bloqueia a linha da viagem",
			"Given the old Android, no coroutines in the boot path: a plain thread and a latch.":                                    "no coroutines in the boot path",
			"Capacity is counted in seats and not in people from now on.":                                                           "Capacity is counted in seats and not in people",
			"Laravel's scheduler would do, but cron on the host survives a broken deploy. Cron, then.":                              "cron on the host survives a broken deploy",
			"Os horários ficam como texto com o fuso, do jeito que a capitania quer; converter e reconverter já nos custou um dia.": "Os horários ficam como texto com o fuso",
			"I settled on protobuf-lite for the kiosk feed after measuring: JSON took 4x the heap.":                                 "protobuf-lite for the kiosk feed",
			"Retries are capped at three with 20 s between them; the modem on the island needs that long to reconnect.":             "Retries are capped at three",
		},
		dirs: []string{"kiosk/app/src/main/kotlin/feed", "kiosk/app/src/main/kotlin/boot", "panel/app/Services/Gtfs", "panel/app/Http/Controllers", "panel/tests/Feature", "shared/tide"}, suffix: ".kt",
		stems: []string{"TripRow", "TideGate", "SeatCount", "FeedReader", "OfflineStore", "BootLatch", "Departure", "OffsetClock", "FareTable", "Berth", "ModemRetry", "PanelRoute", "ImportJob", "StopMap"},
		done:  []string{"ler o feed GTFS novo", "tabela de marés", "assentos em vez de pessoas", "início offline do totem"},
		todo: []string{
			"testar com maré de 0,39 e de 0,40", "desligar o feed antigo depois do dia 14", "tarifa da bicicleta no recibo impresso", "medir o heap no totem de 512 MB", "avisar a capitania do novo formato", "apagar o importador incremental",
			"simular modem caído por 2 horas", "alerta se a importação noturna não terminar até 05:10", "revisar traduções com a Joana", "fixar a versão do protobuf-lite",
		},
		failing: map[string][]string{
			"vendor/bin/phpunit --testdox": {
				"PHPUnit 11.3.1 by Sebastian Bergmann and contributors.\n\nTide Gate (Tests\\Feature\\TideGate)\n ✔ Opens above the mark\n ✘ Stays shut at thirty nine centimetres\n   ┐\n   ├ Failed asserting that true is false.\n   │\n   │ /srv/painel/panel/tests/Feature/TideGateTest.php:47\n   ┴\n\nTime: 00:00.812, Memory: 26.00 MB\n\nFAILURES!\nTests: 22, Assertions: 61, Failures: 1.",
				"Stays shut at thirty nine centimetres", "TideGateTest.php:47",
			},
			"./gradlew :kiosk:lintDebug": {
				"> Task :kiosk:app:lintReportDebug\nWrote HTML report to file:///home/rui/kiosk/build/reports/lint-results-debug.html\n> Task :kiosk:app:lintDebug FAILED\n/home/rui/kiosk/app/src/main/kotlin/boot/BootLatch.kt:33: Error: Call requires API level 30 (current min is 28): java.util.concurrent.CompletableFuture#orTimeout [NewApi]\n        latch.orTimeout(5, SECONDS)\n              ~~~~~~~~~\n1 errors, 4 warnings",
				"Call requires API level 30 (current min is 28)",
			},
			"php artisan gtfs:import --date=2026-06-14": {
				"Reading stops.txt ... 41 rows\nReading trips.txt ... 1180 rows\n\n   Illuminate\\Database\\QueryException \n\n  SQLSTATE[23505]: Unique violation: 7 ERROR:  duplicate key value violates unique constraint \"trips_trip_id_unique\"\nDETAIL:  Key (trip_id)=(MEL-0640-B) already exists.",
				"violates unique constraint", "Key (trip_id)=(MEL-0640-B) already exists",
			},
			"vendor/bin/phpstan analyse app": {
				" 118/118 [▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓] 100%\n\n ------ ---------------------------------------------------------------\n  Line   app/Services/Gtfs/FareTable.php\n ------ ---------------------------------------------------------------\n  64     Method App\\Services\\Gtfs\\FareTable::bike() should return int but returns float.\n ------ ---------------------------------------------------------------\n\n [ERROR] Found 1 error",
				"FareTable::bike() should return int but returns float",
			},
		},
		passed: map[string][]string{
			"./gradlew ktlintCheck": {"FeedReader.kt:18:1: Unexpected blank line(s) before \"}\" (standard:no-blank-line-before-rbrace)\nFAILURE: Build failed with an exception.", "BUILD SUCCESSFUL in 3s"},
			"composer validate":     {"./composer.json is invalid, the following errors/warnings were found:\n# Lock file errors\n- The lock file is not up to date", "./composer.json is valid"},
		},
		code: []string{"    private val %s: %s by lazy { %s(%s) }", "    fun %s(%s: %s): %s? {", "        val %s = %s.%s(%s) ?: return null", "        require(%s.%s) { \"%s\" }", "        return %s.map { it.%s }.first()", "    }", "import %s.%s.%s", "    /** %s of %s */"},
	},
	{
		name: "a laboratory device in Rust and Dart", dialect: wire.Chat, agent: symbols,
		said: []string{
			"Нужно перенести опрос датчиков на новый протокол. Центрифуга отвечает не быстрее чем за 80 мс, скорость порта 38400, и ключ калибровки лежит в /etc/lab/cal.key — не копируй его в репозиторий.",
			"The tablet app is for gloves: no control smaller than 14 mm. Colours come from the hospital's palette, file palette_v3.json.",
			"Да, и температура всегда в десятых долях градуса, целым числом. Иначе аудитор не примет.",
			"请注意：样本编号以 LX- 开头，长度固定为 11 位。旧编号不再接受。",
			"Build for the tablet must stay under 24 MB, the rollout goes over a 2G modem.",
		},
		user: []string{
			"отвечает не быстрее чем за 80 мс", "скорость порта 38400", "/etc/lab/cal.key", "не копируй его в репозиторий", "no control smaller than 14 mm", "palette_v3.json", "в десятых долях градуса", "样本编号以 LX- 开头", "长度固定为 11 位", "must stay under 24 MB",
		},
		decided: map[string]string{
			"Оставляю один поток на порт: два писателя в RS-485 уже портили кадры.":                                               "Оставляю один поток на порт",
			"The frame parser is hand-written. nom pulled in 40 % of the binary for three message types.":                         "The frame parser is hand-written",
			"Калибровку читаем один раз при старте, а не при каждом измерении, потому что ключ на сетевом диске.":                 "Калибровку читаем один раз при старте",
			"样本编号在边界处校验，内部一律用新类型，这样旧编号进不来。":                                                                                       "样本编号在边界处校验",
			"Riverpod goes, a ChangeNotifier is all this screen needs.":                                                           "a ChangeNotifier is all this screen needs",
			"To keep the APK small we ship no icon font; the nine icons are vector paths.":                                        "we ship no icon font",
			"Errors from the bus are values, never panics: a panic in the poll thread left the rotor spinning in the field test.": "Errors from the bus are values, never panics",
			"Не стал делать автоматическое переподключение: лаборант должен увидеть обрыв и подтвердить.":                         "Не стал делать автоматическое переподключение",
			"Timestamps are taken at the first byte of the frame rather than at the checksum.":                                    "Timestamps are taken at the first byte of the frame",
			"For storage: append-only file, fsync every frame. SQLite's WAL lost the last second in the power test.":              "append-only file, fsync every frame",
		},
		dirs: []string{"device/src/bus", "device/src/frame", "device/src/calib", "tablet/lib/screens", "tablet/lib/data", "device/tests"}, suffix: ".rs",
		stems: []string{"poll", "frame", "checksum", "rotor", "sample_id", "decidegrees", "journal", "port", "cal_key", "palette", "gloves", "timeouts", "modem", "audit"},
		done:  []string{"разбор кадра", "таймаут 80 мс", "новый тип номера образца"},
		todo: []string{
			"проверить обрыв кабеля под нагрузкой", "журнал аудита с подписью", "экран подтверждения обрыва", "удалить старый формат номеров", "замерить APK после удаления шрифта", "таблица цветов из palette_v3.json", "тест на 14 мм для всех кнопок",
			"记录离心机固件版本", "описать протокол для сервиса", "повтор кадра при ошибке суммы",
		},
		failing: map[string][]string{
			"cargo nextest run": {
				"    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.41s\n────────────\n Nextest run ID 7c1e with nextest profile: default\n    Starting 31 tests across 4 binaries\n        PASS [   0.004s] device frame::tests::short_frame\n        FAIL [   0.012s] device calib::tests::tenths_round_down\n  stderr ───\n    thread 'calib::tests::tenths_round_down' panicked at src/calib/decidegrees.rs:91:9:\n    assertion `left == right` failed\n      left: 367\n     right: 366\n\n────────────\n     Summary [   0.220s] 31 tests run: 30 passed, 1 failed, 0 skipped\nerror: test run failed",
				"calib::tests::tenths_round_down", "src/calib/decidegrees.rs:91:9",
			},
			"cargo clippy --all-targets -- -D warnings": {
				"    Checking device v0.9.0 (/home/vera/lab/device)\nerror: this `MutexGuard` is held across an await point\n  --> src/bus/poll.rs:140:13\n    |\n140 |         let port = self.port.lock().unwrap();\n    |             ^^^^\n    = note: `-D clippy::await-holding-lock` implied by `-D warnings`\n\nerror: could not compile `device` (lib) due to 1 previous error",
				"is held across an await point", "src/bus/poll.rs:140:13",
			},
			"flutter test test/screens": {
				"00:02 +0: loading /home/vera/lab/tablet/test/screens/rotor_test.dart\n00:03 +4: RotorScreen stop button is large enough for gloves\n══╡ EXCEPTION CAUGHT BY FLUTTER TEST FRAMEWORK ╞══════\nThe following TestFailure was thrown running a test:\nExpected: a value greater than or equal to <14.0>\n  Actual: <11.5>\n\nWhen the exception was thrown, this was the stack:\n#4      main.<anonymous closure> (file:///home/vera/lab/tablet/test/screens/rotor_test.dart:38:7)\n══════════════════\n00:03 +4 -1: RotorScreen stop button is large enough for gloves [E]\n00:04 +9 -1: Some tests failed.",
				"stop button is large enough for gloves", "Actual: <11.5>",
			},
			"dart analyze lib": {
				"Analyzing lib...                       1.9s\n\n  error • lib/data/sample_id.dart:22:30 • The argument type 'String?' can't be assigned to the parameter type 'String'.  • argument_type_not_assignable\n\n1 issue found.",
				"The argument type 'String?' can't be assigned",
			},
			"scripts/size.sh tablet/build/app.apk": {
				"app.apk: 25.6 MB\nlimit:   24.0 MB\nOVER by 1.6 MB",
				"OVER by 1.6 MB",
			},
		},
		passed: map[string][]string{"cargo deny check": {"error[vulnerability]: Stack overflow in serial parsing\n   ┌─ Cargo.lock:88:1\nadvisories FAILED, bans ok, licenses ok, sources ok", "advisories ok, bans ok, licenses ok, sources ok"}},
		code:   []string{"    pub fn %s(&mut self, %s: %s) -> Result<%s, %s> {", "        let %s = self.%s.%s(%s)?;", "        if %s.%s() { return Err(%s::%s); }", "        Ok(%s { %s, %s })", "    }", "use crate::%s::%s;", "/// %s of %s.", "    %s: Option<%s>,"},
	},
	{
		name: "a festival's booking in Elixir and Scala", dialect: wire.Responses, agent: oneEditor,
		said: []string{
			"Sahne programını yeni servise taşı. Ana sahne 22:45'te susmak zorunda, belediye izin vermiyor. Test ortamı staging-izmir, kullanıcı adı festival_ro.",
			"Artists' riders are confidential: they must not show up in logs, traces or fixtures. Use rider id 9001 for tests.",
			"Bilekliklerin çipi en fazla 48 bayt tutuyor, ona göre.",
			"One more: payouts go out on Tuesdays only, minimum 40 euros, the rest carries over.",
		},
		user: []string{
			"Ana sahne 22:45'te susmak zorunda", "staging-izmir", "festival_ro", "must not show up in logs, traces or fixtures", "Use rider id 9001 for tests", "en fazla 48 bayt tutuyor", "payouts go out on Tuesdays only", "minimum 40 euros, the rest carries over",
		},
		decided: map[string]string{
			"Sahne çakışmalarını veritabanı kısıtıyla çözüyorum, uygulama kodunda değil.":                                       "Sahne çakışmalarını veritabanı kısıtıyla çözüyorum",
			"One GenServer per stage is overkill for six stages; a single process with a map will be easier to reason about.":   "a single process with a map",
			"CBOR on the wristband, since JSON does not fit into 48 bytes.":                                                     "CBOR on the wristband",
			"Ödeme toplu işi tekrar çalıştırılabilir olacak: her satırın kendi anahtarı var.":                                   "Ödeme toplu işi tekrar çalıştırılabilir olacak",
			"We log the rider's id and nothing else of it.":                                                                     "We log the rider's id and nothing else",
			"The Scala side keeps Future; moving to cats-effect during the festival season is not worth the risk.":              "The Scala side keeps Future",
			"Saatleri UTC yerine yerel saatle saklıyorum çünkü belediye kararı yerel saate bağlı.":                              "yerel saatle saklıyorum",
			"Curfew is enforced when a slot is booked, and checked again each night, in case somebody edits the table by hand.": "Curfew is enforced when a slot is booked",
		},
		dirs: []string{"apps/stage/lib/stage", "apps/stage/test", "apps/payout/lib/payout", "core/src/main/scala/festival", "core/src/test/scala/festival", "infra/k8s"}, suffix: ".ex",
		stems: []string{"slot", "curfew", "wristband", "payout_run", "rider", "conflict", "carry_over", "tuesday", "cbor", "stage_map", "importer", "gate", "roster"},
		done:  []string{"program tablosu", "çakışma kısıtı", "CBOR kodlayıcı"},
		todo: []string{
			"22:45 kuralını gece kontrolüne ekle", "bileklik okuyucuyu gerçek çiple dene", "devreden bakiyeyi rapora yaz", "log taraması: rider metni yok", "staging-izmir için tohum verisi", "remove the Oban retry of payouts", "ask the city about sound checks before noon", "kapı listesini çevrimdışı ver",
		},
		failing: map[string][]string{
			"mix test": {
				"Running ExUnit with seed: 71, max_cases: 8\n\n......\n\n  1) test a slot that ends at 22:46 is refused (Stage.CurfewTest)\n     apps/stage/test/curfew_test.exs:31\n     match (=) failed\n     code:  assert {:error, :curfew} = Curfew.check(slot)\n     left:  {:error, :curfew}\n     right: :ok\n     stacktrace:\n       test/curfew_test.exs:33: (test)\n\nFinished in 0.3 seconds\n54 tests, 1 failure",
				"a slot that ends at 22:46 is refused", "curfew_test.exs:31",
			},
			"sbt core/test": {
				"[info] CarryOverSpec:\n[info] - pays nothing below the minimum\n[info] - carries the rest into the next week *** FAILED ***\n[info]   BigDecimal(\"12.50\") was not equal to BigDecimal(\"0\") (CarryOverSpec.scala:52)\n[info] Run completed in 1 second, 204 milliseconds.\n[info] Tests: succeeded 17, failed 1, canceled 0, ignored 0, pending 0\n[info] *** 1 TEST FAILED ***\n[error] Failed tests:\n[error] \tfestival.CarryOverSpec\n[error] (core / Test / test) sbt.TestsFailedException: Tests unsuccessful",
				"carries the rest into the next week", "was not equal to BigDecimal",
			},
			"mix dialyzer": {
				"Finding suitable PLTs\nTotal errors: 1, Skipped: 0, Unnecessary Skips: 0\ndone in 0m11.3s\nlib/payout/tuesday.ex:19:no_return\nFunction next/1 has no local return.\n________________________________________________________________________________\ndone (warnings were emitted)\nHalting VM with exit status 2",
				"lib/payout/tuesday.ex:19:no_return",
			},
			"kubectl apply -f infra/k8s --dry-run=server": {
				"service/stage unchanged (server dry run)\nError from server (Forbidden): error when creating \"infra/k8s/cron.yaml\": cronjobs.batch is forbidden: User \"festival_ro\" cannot create resource \"cronjobs\" in API group \"batch\" in the namespace \"izmir\"",
				"cronjobs.batch is forbidden",
			},
			"ctest --test-dir nif/build": {
				"Test project /home/ece/festival/nif/build\n    Start 1: encode_48\n1/2 Test #1: encode_48 ........................***Failed    0.02 sec\nchip.c:77: encoded 51 bytes, room for 48\n    Start 2: decode\n2/2 Test #2: decode ...........................   Passed    0.01 sec\n\n50% tests passed, 1 tests failed out of 2\n\nThe following tests FAILED:\n\t  1 - encode_48 (Failed)\nErrors while running CTest",
				"1 - encode_48 (Failed)", "chip.c:77: encoded 51 bytes",
			},
		},
		passed: map[string][]string{"mix format --check-formatted": {"** (Mix) mix format failed due to --check-formatted.\nThe following files are not formatted:\n  * apps/stage/lib/stage/gate.ex", "(no output)"}},
		code:   []string{"  def %s(%s, %s) do", "    %s = %s.%s(%s)", "    with {:ok, %s} <- %s(%s), do: {:ok, %s.%s}", "  end", "  @spec %s(%s) :: {:ok, %s} | {:error, %s}", "  alias Stage.{%s, %s}", "    |> Enum.map(&%s.%s/1)", "  # %s of %s"},
	},
}

// sidebar is an extension of an editor: it writes whole files or diffs, and its list is Markdown.
var sidebar = agent{
	read: func(path string) call {
		return call{name: "read_file", arguments: object{"files": []any{object{"path": path, "line_ranges": []any{"1-200"}}}}}
	},
	edit: func(path, before, after string) call {
		if len(path)%3 == 0 {
			return call{name: "write_to_file", arguments: object{"path": path, "content": after, "line_count": strings.Count(after, "\n")}}
		}
		diff := "<<<<<<< SEARCH\n:start_line:12\n-------\n" + before + "=======\n" + after + ">>>>>>> REPLACE\n"
		return call{name: "apply_diff", arguments: object{"path": path, "diff": diff}}
	},
	run: func(command string) call {
		return call{name: "execute_command", arguments: object{"command": command, "cwd": "."}}
	},
	plan: func(done []string, through int, todo []string) call {
		var b strings.Builder
		for i, item := range done {
			mark := " "
			if i < through {
				mark = "x"
			}
			fmt.Fprintf(&b, "[%s] %s\n", mark, item)
		}
		for i, item := range todo {
			mark := " "
			if i == 0 && through == len(done) {
				mark = "-"
			}
			fmt.Fprintf(&b, "[%s] %s\n", mark, item)
		}
		return call{name: "update_todo_list", arguments: object{"todos": b.String()}}
	},
	ended: func(output string, code int) string {
		if code != 0 {
			return fmt.Sprintf("Command execution was not successful, inspect the cause and adjust as needed.\nExit code: %d\nOutput:\n%s", code, output)
		}
		return "Command executed in terminal within working directory '.'. Exit code: 0\nOutput:\n" + output
	},
	wrote: func(path string) string {
		return `{"path":"` + path + `","operation":"modified","notice":"You do not need to re-read the file"}`
	},
}

// symbols is an agent that reads and edits by the names of functions.
var symbols = agent{
	read: func(path string) call {
		return call{name: "find_symbol", arguments: object{"name_path": "poll", "relative_path": path, "include_body": true}}
	},
	edit: func(path, before, after string) call {
		name := []string{"replace_symbol_body", "insert_after_symbol", "replace_regex"}[len(path)%3]
		if name == "replace_regex" {
			return call{name: name, arguments: object{"relative_path": path, "regex": before, "repl": after}}
		}
		return call{name: name, arguments: object{"name_path": "Bus/poll", "relative_path": path, "body": after}}
	},
	run: func(command string) call {
		return call{name: "execute_shell_command", arguments: object{"command": command, "capture_stderr": true}}
	},
	plan: func(done []string, through int, todo []string) call {
		var list []any
		for i, item := range done {
			list = append(list, object{"id": fmt.Sprint(i + 1), "title": item, "done": i < through})
		}
		for i, item := range todo {
			list = append(list, object{"id": fmt.Sprint(len(done) + i + 1), "title": item, "done": false})
		}
		return call{name: "set_tasks", arguments: object{"tasks": list}}
	},
	ended: func(output string, code int) string {
		return fmt.Sprintf(`{"stdout":%q,"return_code":%d,"cwd":"/home/vera/lab"}`, output, code)
	},
	wrote: func(string) string { return "OK" },
}

// oneEditor is an agent with one tool for files and a shell that is a session.
var oneEditor = agent{
	read: func(path string) call {
		return call{name: "str_replace_editor", arguments: object{"command": "view", "path": "/home/ece/festival/" + path}}
	},
	edit: func(path, before, after string) call {
		switch len(path) % 3 {
		case 0:
			return call{name: "str_replace_editor", arguments: object{"command": "create", "path": "/home/ece/festival/" + path, "file_text": after}}
		case 1:
			return call{name: "str_replace_editor", arguments: object{"command": "insert", "path": "/home/ece/festival/" + path, "insert_line": 12, "new_str": after}}
		}
		return call{name: "str_replace_editor", arguments: object{"command": "str_replace", "path": "/home/ece/festival/" + path, "old_str": before, "new_str": after}}
	},
	run: func(command string) call {
		return call{name: "execute_bash", arguments: object{"command": command, "is_input": "false"}}
	},
	plan: func(done []string, through int, todo []string) call {
		var list []any
		for i, item := range done {
			status := "todo"
			if i < through {
				status = "done"
			}
			list = append(list, object{"id": fmt.Sprint(i), "title": item, "status": status, "notes": ""})
		}
		for i, item := range todo {
			list = append(list, object{"id": fmt.Sprint(len(done) + i), "title": item, "status": "todo", "notes": ""})
		}
		return call{name: "task_tracker", arguments: object{"command": "plan", "task_list": list}}
	},
	ended: func(output string, code int) string {
		return fmt.Sprintf("%s\n[The command completed with exit code %d.]\n[Current working directory: /home/ece/festival]\n[Python interpreter: /usr/bin/python3]\n[Command finished with exit code %d]", output, code, code)
	},
	wrote: func(path string) string {
		return "The file /home/ece/festival/" + path + " has been edited. Here's the result of running `cat -n` on a snippet of it. Review the changes and make sure they are as expected."
	},
}
