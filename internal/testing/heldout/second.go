package heldout

import "github.com/plimsoll/plimsoll/window/wire"

// second are the sessions of the second set: other runners, other languages, other ways to say what was decided. They were written
// before their author had read how failures are found.
var second = []script{
	{
		name: "a booking service in Java", dialect: wire.Messages, agent: claudeCode,
		said: []string{
			"Hay que separar las reservas del monolito. El servicio nuevo escucha en el puerto 7443 y la base se llama reservas_ro en el clúster de Sevilla. No cambies el esquema de la tabla habitacion_tarifa.",
			"The hotel group pays per request, so at most two calls to the rates API for each search. The sandbox key is in Vault under kv/travel/rates-sbx.",
			"Ojo: los domingos de 3 a 5 hay mantenimiento, el servicio tiene que responder 503 con Retry-After 900.",
			"Marta from finance wants refunds in the currency of the booking and never in euros by default.",
			"Otra cosa: la versión de Java en producción es 21.0.4 y no se puede subir antes de marzo.",
		},
		user: []string{
			"el puerto 7443", "reservas_ro en el clúster de Sevilla", "No cambies el esquema de la tabla habitacion_tarifa", "at most two calls to the rates API for each search", "kv/travel/rates-sbx",
			"los domingos de 3 a 5 hay mantenimiento", "503 con Retry-After 900", "refunds in the currency of the booking", "la versión de Java en producción es 21.0.4", "no se puede subir antes de marzo",
		},
		decided: map[string]string{
			"Me quedo con JDBC puro para las tarifas: el ORM carga la habitación entera por cada noche.":                         "Me quedo con JDBC puro para las tarifas",
			"I'm going to keep idempotency keys in the database rather than in Redis, since Redis is flushed at every deploy.":   "keep idempotency keys in the database rather than in Redis",
			"No vamos a publicar eventos desde el hilo de la petición; si el broker tarda, la reserva caduca.":                   "No vamos a publicar eventos desde el hilo de la petición",
			"The refund job stays single-threaded on purpose. Two workers paid the same guest twice in June.":                    "The refund job stays single-threaded on purpose",
			"Resilience4j is out; a plain semaphore with a deadline does the same in thirty lines and shows up in thread dumps.": "Resilience4j is out",
			"He optado por fechas locales del hotel en la API, porque el huso horario del cliente ya nos dio noches de menos.":   "fechas locales del hotel en la API",
			"Prices are cached for 40 seconds and not longer: the group changes them on the minute during sales.":                "Prices are cached for 40 seconds and not longer",
			"Better to fail the whole search than to show rooms without taxes, legal said so twice.":                             "Better to fail the whole search than to show rooms without taxes",
			"Flyway migrations run from the pipeline and no longer at start-up, because two pods raced for the lock.":            "Flyway migrations run from the pipeline and no longer at start-up",
			"Descarto GraphQL para el móvil: la app vieja no puede mandar cabeceras y aún tiene 60.000 usuarios.":                "Descarto GraphQL para el móvil",
		},
		dirs: []string{"booking/src/main/java/com/posada/rates", "booking/src/main/java/com/posada/refund", "booking/src/main/java/com/posada/api", "booking/src/test/java/com/posada", "gateway/src/main/java/com/posada/edge"}, suffix: ".java",
		stems: []string{"RateClient", "RateCache", "RefundJob", "BookingResource", "NightRange", "TaxTable", "Deadline", "IdempotencyStore", "VaultConfig", "MaintenanceFilter", "CurrencyOf", "RoomMapper", "SearchPlan", "OutboxWriter"},
		done:  []string{"sacar RateClient del monolito", "tabla de idempotencia", "filtro de mantenimiento", "NightRange con fechas locales", "límite de dos llamadas"},
		todo: []string{
			"comparar reembolsos de mayo con el sistema viejo", "borrar la caché cuando cambia una tarifa en rebajas", "prueba de carga con 120 búsquedas por segundo", "documentar el 503 para la app móvil", "quitar el bean RestTemplate heredado",
			"alertar si el outbox tiene más de 500 filas", "revisar los índices de reservas_ro con Pilar", "probar el corte de Vault a media petición", "pasar los logs a JSON con el id de reserva", "plan de vuelta atrás firmado por sistemas",
		},
		failing: map[string][]string{
			"./gradlew :booking:test": {
				"> Task :booking:compileJava\n> Task :booking:test FAILED\n\nNightRangeTest > lastNightIsNotCharged() FAILED\n    org.opentest4j.AssertionFailedError: expected: <4> but was: <5>\n        at app//com.posada.rates.NightRangeTest.lastNightIsNotCharged(NightRangeTest.java:58)\n\n48 tests completed, 1 failed\n\nFAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task ':booking:test'.\n> There were failing tests. See the report at: file:///srv/app/booking/build/reports/tests/test/index.html\n\nBUILD FAILED in 19s",
				"lastNightIsNotCharged", "expected: <4> but was: <5>",
			},
			"mvn -q -pl gateway verify": {
				"[ERROR] Tests run: 12, Failures: 0, Errors: 1, Skipped: 0, Time elapsed: 3.11 s <<< FAILURE! -- in com.posada.edge.MaintenanceFilterIT\n[ERROR] com.posada.edge.MaintenanceFilterIT.sundayAtFour -- Time elapsed: 0.2 s <<< ERROR!\njava.lang.NullPointerException: Cannot invoke \"java.time.Clock.instant()\" because \"this.clock\" is null\n\tat com.posada.edge.MaintenanceFilter.closed(MaintenanceFilter.java:31)\n[ERROR] Failed to execute goal org.apache.maven.plugins:maven-failsafe-plugin:3.2.5:verify (default) on project gateway",
				"MaintenanceFilterIT.sundayAtFour", "because \"this.clock\" is null",
			},
			"docker compose run --rm smoke": {
				"smoke-1  | GET /search?hotel=17 -> 200 (412 ms)\nsmoke-1  | POST /bookings -> 500 (88 ms)\nsmoke-1  | body: {\"title\":\"relation \\\"idempotency_key\\\" does not exist\"}\nsmoke-1 exited with code 3",
				"POST /bookings -> 500",
			},
		},
		passed: map[string][]string{
			"./gradlew spotlessCheck": {"Execution failed for task ':booking:spotlessJavaCheck'.\n> The following files had format violations:\n    src/main/java/com/posada/api/BookingResource.java", "BUILD SUCCESSFUL in 2s"},
			"./gradlew :gateway:test": {"MaintenanceFilterTest > opensAtFive() FAILED\n    java.lang.AssertionError at MaintenanceFilterTest.java:40", "BUILD SUCCESSFUL in 6s\n5 actionable tasks: 2 executed"},
		},
		code: []string{"    private final %s %s;", "    public %s %s(%s %s) throws %s {", "        var %s = %s.%s(%s);", "        if (%s == null) { throw new %s(\"%s\"); }", "        return %s.stream().map(%s::%s).toList();", "    }", "import com.posada.%s.%s;", "    @Override // %s"},
	},
	{
		name: "a museum site in Ruby", dialect: wire.Chat, agent: harbour,
		said: []string{
			"Przenieś sprzedaż biletów na Rails 8. Bilet ulgowy kosztuje 18 zł, a grupy powyżej 24 osób rezerwują tylko przez recepcję. Nie ruszaj tabeli legacy_orders.",
			"The turnstiles read the barcode as Code 128 with exactly 14 digits, anything else and people stand in the rain.",
			"W piątki wstęp jest wolny od 16:00, ale bilet i tak musi powstać, z ceną 0.",
			"Payments go through the contract with BLIK-Nord, merchant number 550-2217. Their test system is down every night from 1 to 2.",
			"Aha, i maile wysyłamy z adresu bilety@muzeum-rzeka.example, nie z no-reply.",
		},
		user: []string{
			"Bilet ulgowy kosztuje 18 zł", "grupy powyżej 24 osób rezerwują tylko przez recepcję", "Nie ruszaj tabeli legacy_orders", "Code 128 with exactly 14 digits", "W piątki wstęp jest wolny od 16:00", "z ceną 0",
			"merchant number 550-2217", "down every night from 1 to 2", "bilety@muzeum-rzeka.example", "nie z no-reply",
		},
		decided: map[string]string{
			"Zostaję przy jednej tabeli biletów z kolumną rodzaju; dziedziczenie STI utrudniłoby raporty.":                          "Zostaję przy jednej tabeli biletów",
			"The barcode is generated in the database transaction, not in the mail job, so that a ticket never exists without one.": "The barcode is generated in the database transaction",
			"Sidekiq nie wchodzi w grę, recepcja ma jeden serwer bez Redisa; zadania idą do Solid Queue.":                           "zadania idą do Solid Queue",
			"We stop using floats for money here and store grosze as integers everywhere.":                                          "store grosze as integers everywhere",
			"Turbo streams for the seat map were tempting, but polling each 10 s survives the museum's proxy.":                      "polling each 10 s survives the museum's proxy",
			"Rezygnuję z soft delete: zwrócony bilet dostaje status, a wiersz zostaje.":                                             "zwrócony bilet dostaje status, a wiersz zostaje",
			"PDFs are rendered once and kept; rendering them again gave another checksum and the turnstile refused it.":             "PDFs are rendered once and kept",
			"I prefer a failing import over a half one: the whole season goes in one transaction.":                                  "the whole season goes in one transaction",
			"Nie dodaję ról do panelu, bo obie kasjerki i tak mają te same prawa.":                                                  "Nie dodaję ról do panelu",
			"Rate limiting sits in nginx and not in Rack, because bots took all Puma threads before Rack saw them.":                 "Rate limiting sits in nginx and not in Rack",
		},
		dirs: []string{"app/models", "app/controllers", "app/jobs", "app/services/tickets", "lib/turnstile", "spec/models", "spec/system"}, suffix: ".rb",
		stems: []string{"ticket", "barcode", "season", "group_booking", "refund", "payment_blik", "price_list", "visitor", "turnstile_feed", "mailer_job", "free_friday", "import", "report_daily"},
		done:  []string{"model biletu z groszami", "kod kreskowy 14 cyfr", "wolne piątki", "kolejka Solid Queue"},
		todo: []string{
			"sprawdzić zwroty z grudnia z księgową", "ekran dla recepcji przy grupach", "powtórka płatności po przerwie nocnej", "usunąć gem paperclip", "test bramki z prawdziwym czytnikiem", "tłumaczenie biletu na ukraiński",
			"alarm gdy kolejka stoi 5 minut", "kopia plików PDF na taśmę", "regulamin w stopce", "porównać sumy dzienne z legacy_orders",
		},
		failing: map[string][]string{
			"bundle exec rspec spec/models": {
				"...........F......\n\nFailures:\n\n  1) Ticket free friday is issued with a price of zero\n     Failure/Error: expect(ticket.grosze).to eq(0)\n\n       expected: 0\n            got: 1800\n\n       (compared using ==)\n     # ./spec/models/ticket_spec.rb:88:in 'block (3 levels) in <top (required)>'\n\nFinished in 1.92 seconds (files took 2.4 seconds to load)\n18 examples, 1 failure\n\nFailed examples:\n\nrspec ./spec/models/ticket_spec.rb:85 # Ticket free friday is issued with a price of zero",
				"free friday is issued with a price of zero", "got: 1800",
			},
			"bin/rails db:migrate": {
				"== 20261118 AddBarcodeToTickets: migrating ====================================\n-- add_index(:tickets, :barcode, {:unique=>true})\nbin/rails aborted!\nStandardError: An error has occurred, this and all later migrations canceled: (StandardError)\n\nPG::UniqueViolation: ERROR:  could not create unique index \"index_tickets_on_barcode\"\nDETAIL:  Key (barcode)=(00000000000000) is duplicated.",
				"could not create unique index", "Key (barcode)=(00000000000000) is duplicated",
			},
			"bundle exec rubocop lib": {
				"Inspecting 31 files\n......................C........\n\nOffenses:\n\nlib/turnstile/barcode.rb:19:5: C: Metrics/AbcSize: Assignment Branch Condition size for checksum is too high. [<9, 21, 8> 24.2/17]\n\n31 files inspected, 1 offense detected",
				"Assignment Branch Condition size for checksum is too high",
			},
		},
		passed: map[string][]string{
			"bundle exec rspec spec/system": {"  1) Group booking refuses 25 people online\n     Failure/Error: expect(page).to have_text(\"recepcja\")\n1 example, 1 failure", "6 examples, 0 failures"},
			"bin/importmap audit":           {"trix 2.1.0 high vulnerability", "No vulnerable packages found"},
		},
		code: []string{"  def %s(%s)", "    @%s ||= %s.%s(%s: %s)", "    raise %s, \"%s\" unless %s.%s?", "  end", "class %s < %s", "  validates :%s, presence: true", "  scope :%s, -> { where(%s: %s) }", "    %s.each { |%s| %s << %s }"},
	},
	{
		name: "a synthesizer in C++", dialect: wire.Responses, agent: codex,
		said: []string{
			"오디오 엔진을 C++23으로 옮겨 주세요. 버퍼는 64 프레임, 샘플레이트는 48000으로 고정입니다. 콜백 안에서는 절대 메모리를 할당하지 마세요.",
			"The plugin must load in hosts from 2019 on, so the VST3 SDK stays at 3.7.1. Presets of version 4 have to open unchanged.",
			"라이선스 검사는 서버가 아니라 파일로만 합니다. 파일 이름은 nabi.lic 입니다.",
			"Our reviewer in Leeds measures with a click track at 137 BPM; jitter over 0.2 ms is a return of the shipment.",
			"참고로 ARM 빌드는 3월까지 필요 없습니다.",
		},
		user: []string{
			"버퍼는 64 프레임", "샘플레이트는 48000으로 고정", "콜백 안에서는 절대 메모리를 할당하지 마세요", "the VST3 SDK stays at 3.7.1", "Presets of version 4 have to open unchanged", "라이선스 검사는 서버가 아니라 파일로만",
			"nabi.lic", "a click track at 137 BPM", "jitter over 0.2 ms", "ARM 빌드는 3월까지 필요 없습니다",
		},
		decided: map[string]string{
			"보이스 풀은 시작할 때 한 번만 만들기로 했습니다. 나중에 늘리면 콜백에서 할당이 생깁니다.":                                            "보이스 풀은 시작할 때 한 번만 만들기로",
			"The parameter queue becomes a fixed ring of 256, and a full one drops the oldest change.":       "The parameter queue becomes a fixed ring of 256",
			"I will not use std::function in the graph; each node is a struct with a process pointer.":       "I will not use std::function in the graph",
			"Denormals are flushed per callback instead of per node, which was 3 % of the whole budget.":     "Denormals are flushed per callback instead of per node",
			"필터 계수는 제어 속도로만 다시 계산합니다. 샘플마다 하면 코어 하나를 다 씁니다.":                                                 "필터 계수는 제어 속도로만 다시 계산합니다",
			"The preset reader keeps the old chunk order because two hosts compare files byte by byte.":      "The preset reader keeps the old chunk order",
			"Leaving exceptions off in the engine library. What can fail returns std::expected.":             "Leaving exceptions off in the engine library",
			"juce 대신 직접 만든 창을 유지합니다. juce 라이선스가 배포 방식과 맞지 않습니다.":                                             "juce 대신 직접 만든 창을 유지합니다",
			"Oversampling is 2x for every mode, since 4x missed the deadline on the reference laptop.":       "Oversampling is 2x for every mode",
			"We go without a lock for the meter: one atomic float per channel is good enough for a picture.": "one atomic float per channel is good enough",
		},
		dirs: []string{"engine/graph", "engine/voice", "engine/filter", "plugin/vst3", "preset", "tools/click", "tests/engine"}, suffix: ".cpp",
		stems: []string{"voice_pool", "ring", "node", "ladder", "oversample", "preset_v4", "license_file", "meter", "click_track", "host_quirks", "param_queue", "denormal", "window", "scale"},
		done:  []string{"보이스 풀", "고정 링 버퍼", "프리셋 v4 읽기", "라이선스 파일 검사", "노드 구조체"},
		todo: []string{
			"137 BPM 클릭으로 지터 측정", "오래된 호스트 세 개에서 불러오기 시험", "4배 오버샘플링 코드 지우기", "콜백 안 할당을 잡는 테스트", "미터 그림 60 Hz로", "프리셋 이름의 긴 유니코드", "설치 프로그램 서명", "nabi.lic 없을 때 안내", "필터 공진 소리 비교 녹음", "CI에 clang 18 추가",
		},
		failing: map[string][]string{
			"ctest --test-dir build --output-on-failure": {
				"      Start 14: ring_test\n14/31 Test #14: ring_test ........................***Failed    0.02 sec\n[ RUN      ] Ring.FullDropsTheOldest\n/workspace/tests/engine/ring_test.cpp:47: Failure\nExpected equality of these values:\n  ring.front().value\n    Which is: 0\n  1\n[  FAILED  ] Ring.FullDropsTheOldest (0 ms)\n\n97% tests passed, 1 tests failed out of 31\n\nThe following tests FAILED:\n\t 14 - ring_test (Failed)\nErrors while running CTest",
				"Ring.FullDropsTheOldest",
			},
			"cmake --build build -j2": {
				"[ 41%] Building CXX object engine/CMakeFiles/engine.dir/filter/ladder.cpp.o\n/workspace/engine/filter/ladder.cpp:66:24: error: no matching function for call to 'clamp'\n   66 |     const auto g = std::clamp(cutoff * pi / rate, 0.f, 0.99);\n      |                        ^~~~~~~~~~\nmake[2]: *** [engine/CMakeFiles/engine.dir/build.make:118: engine/CMakeFiles/engine.dir/filter/ladder.cpp.o] Error 1\nmake: *** [Makefile:146: all] Error 2",
				"no matching function for call to 'clamp'",
			},
			"./build/tools/click_track --bpm 137": {
				"measuring 64 frames at 48000\nmax jitter 0.31 ms at beat 219\nSegmentation fault (core dumped)",
				"max jitter 0.31 ms at beat 219", "Segmentation fault",
			},
			"valgrind ./build/tests/preset": {
				"==4411== Invalid read of size 8\n==4411==    at 0x10A2F4: preset::read_chunk(std::span<const std::byte>) (preset_v4.cpp:133)\n==4411==  Address 0x4dd5c40 is 0 bytes after a block of size 512 alloc'd\n==4411== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)",
				"preset_v4.cpp:133",
			},
		},
		passed: map[string][]string{
			"clang-tidy engine/voice/voice_pool.cpp": {"voice_pool.cpp:22:9: warning: narrowing conversion from 'size_t' to 'int' [bugprone-narrowing-conversions]\n1 warning treated as error", "(no output)"},
			"ctest --test-dir build -R voice":        {"voice_test ...***Failed\n[  FAILED  ] Voice.StealsTheQuietest", "100% tests passed, 0 tests failed out of 4"},
		},
		code: []string{"    auto %s = %s.%s(%s);", "struct %s { float %s; %s* %s; };", "    for (auto& %s : %s) %s += %s.%s;", "    if (!%s) return std::unexpected(%s::%s);", "}", "#include \"%s/%s.hpp\"", "// %s of %s", "template <typename %s> void %s(%s& %s) noexcept {"},
	},
	{
		name: "a clinic in PHP and Elixir", dialect: wire.Gemini, agent: geminiCLI,
		said: []string{
			"Precisamos trocar a agenda da clínica. Consulta de retorno dura 25 minutos e o doutor Paiva não atende às quartas. Os prontuários ficam só no servidor de Recife.",
			"The SMS gateway allows 30 messages a minute. Above that they block us for a day, and patients come for nothing.",
			"Atenção: o CPF nunca pode aparecer em log nem em URL, a auditoria foi clara.",
			"The old system keeps running at agenda-antiga.local:8085 until the 9th of February, read it but do not write there.",
			"E o fuso é sempre America/Recife, mesmo para a filial de Lisboa.",
		},
		user: []string{
			"Consulta de retorno dura 25 minutos", "o doutor Paiva não atende às quartas", "prontuários ficam só no servidor de Recife", "allows 30 messages a minute", "o CPF nunca pode aparecer em log nem em URL",
			"agenda-antiga.local:8085", "until the 9th of February", "read it but do not write there", "o fuso é sempre America/Recife", "mesmo para a filial de Lisboa",
		},
		decided: map[string]string{
			"Optei por um GenServer por médico, porque assim duas secretárias nunca marcam o mesmo horário.":                "Optei por um GenServer por médico",
			"The PHP front keeps its sessions; only the booking calls move to Phoenix, otherwise all logins end on Monday.": "only the booking calls move to Phoenix",
			"SMS go through a token bucket in the database. An in-memory one forgets its count at every restart.":           "SMS go through a token bucket in the database",
			"Não vou usar Ecto para ler a agenda antiga: o driver não conhece o charset dela, então é HTTP mesmo.":          "Não vou usar Ecto para ler a agenda antiga",
			"Cancelled slots are kept as rows for thirty days, since the insurer asks for them.":                            "Cancelled slots are kept as rows for thirty days",
			"Fica decidido que o retorno é calculado no servidor; o navegador da recepção tem o relógio errado.":            "o retorno é calculado no servidor",
			"I dropped LiveView for the waiting room screen, the television's browser is from 2016.":                        "I dropped LiveView for the waiting room screen",
			"Patient ids in URLs are random and say nothing, the number of the record stays inside.":                        "Patient ids in URLs are random",
			"Em vez de filas por unidade, uma fila só com prioridade; Lisboa tem quatro consultas por dia.":                 "uma fila só com prioridade",
			"Retries of the gateway stop after two. A third one sent the same text to forty people.":                        "Retries of the gateway stop after two",
		},
		dirs: []string{"web/src/Agenda", "web/src/Paciente", "agenda/lib/agenda", "agenda/lib/agenda_web", "agenda/test", "web/tests"}, suffix: ".ex",
		stems: []string{"slot", "medico_server", "sms_bucket", "retorno", "legacy_reader", "paciente", "prioridade", "audit", "fuso", "cancelado", "painel", "router", "token"},
		done:  []string{"servidor por médico", "balde de SMS", "leitura da agenda antiga", "ids aleatórios"},
		todo: []string{
			"conferir os feriados de Recife e de Lisboa", "apagar CPF dos logs de 2025", "teste com duas secretárias ao mesmo tempo", "tela da sala de espera sem JavaScript novo", "aviso quando o gateway bloqueia", "exportar cancelados para a seguradora",
			"carga com 900 pacientes", "treinar a recepção no dia 2", "remover o cron antigo de lembretes", "backup cifrado dos prontuários",
		},
		failing: map[string][]string{
			"mix test": {
				"Running ExUnit with seed: 771204, max_cases: 4\n\n....\n\n  1) test a follow-up takes 25 minutes (Agenda.RetornoTest)\n     test/agenda/retorno_test.exs:31\n     Assertion with == failed\n     code:  assert slot.minutes == 25\n     left:  30\n     right: 25\n     stacktrace:\n       test/agenda/retorno_test.exs:35: (test)\n\n.....\nFinished in 0.7 seconds (0.7s async, 0.00s sync)\n10 tests, 1 failure",
				"a follow-up takes 25 minutes", "assert slot.minutes == 25",
			},
			"vendor/bin/phpunit tests": {
				"PHPUnit 11.4.3 by Sebastian Bergmann and contributors.\n\n..F...                                                              6 / 6 (100%)\n\nThere was 1 failure:\n\n1) Paciente\\LogTest::testCpfIsMasked\nFailed asserting that '123.456.789-09' does not match PCRE pattern \"/\\d{3}\\.\\d{3}/\".\n\n/home/mika/shop/web/tests/LogTest.php:44\n\nFAILURES!\nTests: 6, Assertions: 11, Failures: 1.",
				"testCpfIsMasked",
			},
			"mix compile --warnings-as-errors": {
				"Compiling 3 files (.ex)\n    warning: variable \"unidade\" is unused (if the variable is not meant to be used, prefix it with an underscore)\n    │\n 52 │   def fila(unidade, prioridade) do\n    │            ~~~~~~~\n    └─ lib/agenda/prioridade.ex:52:12: Agenda.Prioridade.fila/2\n\nCompilation failed due to warnings while using the --warnings-as-errors option",
				"variable \"unidade\" is unused",
			},
			"curl -sf http://127.0.0.1:4000/saude": {
				"curl: (22) The requested URL returned error: 503",
				"The requested URL returned error: 503",
			},
		},
		passed: map[string][]string{
			"mix format --check-formatted": {"** (Mix) mix format failed due to --check-formatted.\nThe following files are not formatted:\n  * lib/agenda/slot.ex", "(no output)"},
			"composer validate":            {"./composer.json is valid, but with a few warnings\nThe lock file is not up to date with the latest changes in composer.json", "./composer.json is valid"},
		},
		code: []string{"  def %s(%s, %s) do", "    with {:ok, %s} <- %s.%s(%s) do", "      %s |> %s.%s() |> %s()", "    end", "  @doc \"%s of %s\"", "  defp %s(%%{%s: %s}), do: {:error, :%s}", "defmodule Agenda.%s do", "    alias Agenda.{%s, %s}"},
	},
}
