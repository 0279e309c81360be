package heldout

import "github.com/plimsoll/plimsoll/window/wire"

var korean = story{
	name: "a tram's tickets in Kotlin, in Korean", dialect: wire.Responses, agent: codex,
	said: []string{
		"트램 승차권 서버를 새 요금 엔진으로 옮겨 주세요. 요금 엔진은 6483 포트에 떠 있습니다. 환승 할인표는 시청에서 관리하니까 손대지 마세요. 브랜치는 하나만 쓰세요.",
		"좋습니다. 다음은 교통카드 단말기예요. 태그 응답은 250ms 안에 나가야 하고, 오프라인 기록은 단말기당 3000건까지만 쌓습니다.",
		"이번엔 환불입니다. 승차 후 15분이 지나면 환불 불가예요. 5만 원 넘는 건은 역무원 승인이 꼭 있어야 합니다.",
		"정산 배치가 너무 오래 걸려요, 좀 봐 주세요. 새벽 4시 20분 전에는 끝나야 합니다. 로그는 이제 대전 서버에 남깁니다.",
		"마지막으로 차내 안내기 앱을 고쳐 주세요. 안내기는 아직 커널 4.9를 씁니다.",
	},
	user: []string{
		"요금 엔진은 6483 포트에 떠 있습니다", "환승 할인표는 시청에서 관리하니까 손대지 마세요", "브랜치는 하나만 쓰세요", "태그 응답은 250ms 안에 나가야", "오프라인 기록은 단말기당 3000건까지만", "승차 후 15분이 지나면 환불 불가", "5만 원 넘는 건은 역무원 승인이", "새벽 4시 20분 전에는 끝나야",
		"로그는 이제 대전 서버에 남깁니다", "안내기는 아직 커널 4.9를 씁니다",
	},
	things: []string{
		"요금표 로딩", "구간 계산기", "단말기 핸드셰이크", "정산 배치", "카드 잔액 조회", "정류장 코드표", "승인 흐름", "코루틴 스코프 설정", "직렬화 규칙", "재전송 버퍼", "안내 방송 순서", "영수증 템플릿", "테스트 픽스처", "Gradle 설정",
		"예외 매핑", "접속 풀", "날짜 경계 처리", "서명 검증", "운행 시간표", "환불 화면", "로그 포맷", "권한 검사", "관리자 화면", "메시지 소비자", "통계 쿼리", "버전 협상",
	},
	chat: []string{
		"{thing}부터 봅니다.", "{file} 열어서 {thing} 쪽을 확인하겠습니다.", "{name} 호출하는 곳이 어딘지 찾아봅니다.", "테스트 한 번 더 돌려 보고 {thing} 상태를 보겠습니다.", "이제 {thing} 차례입니다.", "{thing} 다음에 {thing} 순서로 읽겠습니다.", "{file}에 반영합니다.", "{name} 쪽 코드를 고칩니다.",
		"잠깐, {thing}도 같이 봐야겠네요.", "계속 갑니다. {thing} 관련 코드예요.", "{name} 정의를 먼저 읽어 볼게요.", "{thing} 건드리기 전에 현재 동작을 확인합니다.",
	},
	notes: []string{
		"{thing} 쪽은 예상대로네요.", "{name} 안에서는 조회만 합니다.", "{file} 파일은 길어서 앞부분만 봐도 충분합니다.", "{name} 구현이 {name} 구현과 거의 같습니다.", "별다른 건 없습니다.", "{thing}에는 영향이 없어 보입니다.", "빌드는 잘 됩니다.", "출력 정상입니다.",
		"{thing} 코드가 생각보다 깔끔하네요.", "이 부분은 {name} 하나만 거칩니다.", "아까 본 {thing}에서 한 번 다룬 내용이라 넘어갑니다.",
	},
	openForm: form{"%s 쪽은 %s 경우를 아직 고려하지 못했습니다.", [][]any{
		{"단말기", "카드 두 장이 한꺼번에 찍히는"}, {"환불", "가족권에서 한 명만 취소하는"}, {"정산", "자정을 넘겨 달리는 막차가 낀"}, {"안내기", "정류장 이름이 스무 글자를 넘는"}, {"대전 로그 서버", "디스크가 꽉 찬"},
	}},
	open: []said{
		{"외국인 관광권은 가격이 안 정해져서 임시로 0원 처리해 둔 상태예요.", "외국인 관광권은 가격이 안 정해져서 임시로 0원 처리해 둔 상태"},
		{"실차에서는 확인을 못 해 봤고 책상 위 단말기로만 돌렸습니다.", "실차에서는 확인을 못 해 봤고"},
		{"경로 우대 나이를 만으로 볼지 연 나이로 볼지는 복지과 답을 받아야 정할 수 있습니다.", "경로 우대 나이를 만으로 볼지 연 나이로 볼지"},
		{"구형 카드의 암호화 키 교체는 다음으로 미뤘습니다.", "구형 카드의 암호화 키 교체는 다음으로 미뤘습니다"},
		{"나머지는 다 맞는데 한옥마을 정류장만 좌표가 지도와 40미터쯤 어긋나 있어서 현장에서 다시 재야 하고, 그 전까지는 거리 요금이 조금 더 나옵니다.", "한옥마을 정류장만 좌표가 지도와 40미터쯤 어긋나 있어서 현장에서 다시 재야"},
	},
	rest: "이건 못 끝냈습니다:",
	openItems: []said{
		{"분실 카드 잔액 이전", "분실 카드 잔액 이전"},
		{"승무원 비밀번호 초기화 메뉴", "승무원 비밀번호 초기화 메뉴"},
		{"박 대리님께 영수증 문구 확인받기", "박 대리님께 영수증 문구 확인받기"},
		{"부하 테스트를 추석 연휴 데이터로 다시 돌리기", "부하 테스트를 추석 연휴 데이터로 다시 돌리기"},
		{"안 쓰는 종이 승차권 테이블 삭제", "안 쓰는 종이 승차권 테이블 삭제"},
	},
	causeForm: form{"%s 현상은 %s 탓이었습니다.", [][]any{
		{"이중 결제", "타임아웃 뒤에도 살아 있던 첫 번째 요청"}, {"요금 0원", "구간 번호를 문자열로 정렬해 둔 요금표"}, {"배치 지연", "건마다 새로 여는 트랜잭션"}, {"방송 밀림", "화면 스레드에서 기다리던 네트워크 호출"},
	}},
	causes: []said{
		{"테스트가 가끔만 깨지길래 스무 번 돌려 봤습니다. 가상 시계를 쓰는 쪽과 실제 시계를 쓰는 쪽이 한 테스트 안에 섞여 있었고, 그래서 바쁜 장비에서만 만료 판정이 뒤집혔네요. 재현은 됩니다.", "가상 시계를 쓰는 쪽과 실제 시계를 쓰는 쪽이 한 테스트 안에 섞여 있었고"},
		{"BigDecimal을 equals로 비교해서 1250과 1250.00이 다른 금액으로 취급됐습니다.", "BigDecimal을 equals로 비교해서"},
		{"단말기 쪽 버그인 줄 알았는데 통신사 NAT이 90초 조용하면 매핑을 지웁니다.", "통신사 NAT이 90초 조용하면 매핑을 지웁니다"},
		{"원인: 인덱스가 station_id 하나뿐이라 정산 쿼리가 한 달 치를 통째로 훑음.", "인덱스가 station_id 하나뿐이라 정산 쿼리가 한 달 치를 통째로 훑음"},
		{"자식 코루틴의 예외를 runCatching이 삼키니 취소가 위로 올라가지 않네요.", "자식 코루틴의 예외를 runCatching이 삼키니"},
		{"환불이 두 번 나간 건 승인 버튼이 느릴 때 역무원이 한 번 더 누르는데 서버가 그걸 새 요청으로 받아서예요.", "역무원이 한 번 더 누르는데 서버가 그걸 새 요청으로 받아서"},
		{"커널 4.9에는 getrandom 플래그 하나가 없고, 안내기가 부팅하자마자 죽는 건 그래서입니다.", "커널 4.9에는 getrandom 플래그 하나가 없고"},
		{"로그를 보면 한 시간씩 비는 구간이 있죠, 대전 서버 시각이 NTP 없이 혼자 흘러가고 있었습니다.", "대전 서버 시각이 NTP 없이 혼자 흘러가고 있었습니다"},
	},
	decided: []said{
		{"잔액은 카드에 쓰지 않고 서버 원장만 믿는 걸로 가겠습니다.", "잔액은 카드에 쓰지 않고 서버 원장만 믿는"},
		{"금액 타입: Long 원 단위, 소수점 없음.", "Long 원 단위, 소수점 없음"},
		{"멱등 키는 단말기 번호와 일련번호를 묶어서 만들고, UUID는 안 씁니다.", "단말기 번호와 일련번호를 묶어서 만들고, UUID는 안 씁니다"},
		{"오프라인 기록이 넘치면 오래된 것부터 버리는 게 아니라 새 태그를 거절하도록 했습니다.", "오래된 것부터 버리는 게 아니라 새 태그를 거절하도록"},
		{"요금 계산을 단말기로 내려보내는 안도 따져 봤지만 펌웨어 배포가 분기에 한 번이라 서버 계산을 유지합니다.", "펌웨어 배포가 분기에 한 번이라 서버 계산을 유지합니다"},
		{"Kafka 대신 아웃박스 테이블을 씁니다, 하루 이십만 건에 클러스터까지 둘 이유가 없어서요.", "Kafka 대신 아웃박스 테이블"},
		{"환불 사유는 자유 입력을 받지 않고 목록에서 고르게 합니다.", "자유 입력을 받지 않고 목록에서 고르게"},
		{"배치를 병렬로 돌리느니 증분 정산으로 바꾸는 편이 낫겠습니다.", "병렬로 돌리느니 증분 정산으로"},
		{"막차는 전날 영업일로 친다.", "막차는 전날 영업일로 친다"},
		{"Exposed냐 JPA냐 고민했는데 결국 jOOQ로 정했어요, 정산 쿼리를 그대로 옮길 수 있거든요.", "결국 jOOQ로 정했어요"},
		{"로그에 카드 번호는 뒤 네 자리만 남기자는 쪽으로 갑니다. 전체 해시는 역추적이 된다고 보안팀이 반대했습니다.", "카드 번호는 뒤 네 자리만 남기자"},
		{"안내기에는 TLS 1.3을 강제하지 말고 1.2까지 허용, 장비 교체가 내후년이라서.", "TLS 1.3을 강제하지 말고 1.2까지 허용"},
	},
	ends: []string{
		"새 요금 엔진으로 다 넘어갔습니다.", "단말기 응답은 지금 180ms 정도입니다. 오프라인 한도도 들어갔습니다.", "환불 규칙 두 가지 모두 적용했고 샘플 데이터로 확인했습니다.", "정산이 3시 40분이면 끝납니다.", "안내기 앱이 정상으로 뜹니다.",
	},
	failing: map[string][]string{
		"./gradlew :fare:test":              {"> Task :fare:test FAILED\n\nZoneSortTest > tenComesAfterTwo() FAILED\n    org.opentest4j.AssertionFailedError at ZoneSortTest.kt:37\n\n12 tests completed, 1 failed\n\nFAILURE: Build failed with an exception.", "tenComesAfterTwo() FAILED"},
		"./gradlew :terminal:compileKotlin": {"> Task :terminal:compileKotlin FAILED\ne: file:///workspace/terminal/src/Handshake.kt:64:21 Type mismatch: inferred type is CardSerial but Long was expected\n\nBUILD FAILED in 6s", "Type mismatch: inferred type is CardSerial but Long was expected"},
		"./gradlew detekt":                  {"settle/src/DailyClose.kt:118:5: The function closeDay is too long (96). The maximum length is 60. [LongMethod]\n\nAnalysis failed with 1 weighted issues.", "The function closeDay is too long (96)"},
		"flyway migrate":                    {"Migrating schema \"public\" to version \"47 - refund reason\"\nERROR: Migration V47__refund_reason.sql failed\n----------------------------------------\nSQL State  : 23514\nMessage    : ERROR: check constraint \"refund_reason_listed\" of relation \"refund\" is violated by some row", "Migration V47__refund_reason.sql failed", "is violated by some row"},
		"ctest --test-dir display/build":    {"83% tests passed, 1 tests failed out of 6\n\nThe following tests FAILED:\n\t  3 - boot_entropy (Subprocess aborted)\nErrors while running CTest", "boot_entropy (Subprocess aborted)"},
	},
	dirs: []string{"fare/src", "terminal/src", "refund/src", "settle/src", "display/src", "ledger/src", "common/src"}, suffix: ".kt",
	stems: []string{"Zone", "Handshake", "Approval", "DailyClose", "Outbox", "Stop", "Receipt", "Balance", "Timetable", "Announce", "Mask", "Session", "Replay", "Holiday"},
	code:  []string{"suspend fun %s(%s: %s): %s {", "    val %s = %s.%s(%s)", "    %s?.let { %s(it) } ?: return %s", "}", "import tram.%s.%s", "data class %s(val %s: %s, val %s: %s)", "    // %s of %s", "    require(%s.%s) { \"%s\" }", "    when (%s) { is %s -> %s() }"},
}
