package heldout

import "github.com/plimsoll/plimsoll/window/wire"

// workshop is a talk in Polish and Bengali. It was written by somebody who had seen nothing of the extractor.
var workshop = dialogue{
	name: "a bicycle workshop in TypeScript, in Polish and Bengali", dialect: wire.Messages, agent: claudeCode, rows: 18,
	code: []string{"export async function %s(%s: string, %s?: Date) {", "  const %s = await this.%s.%s(%s)", "  if (!%s.%s) return %s", "  for (const %s of %s) %s.%s(%s)", "}", "import { %s, %s } from \"./%s\"", "  private readonly %s = new Map<string, %s>()", "  // %s per %s", "  throw new %s(\"%s is missing\")", "  return %s.map((%s) => %s.%s)"},
	lines: `
> Cześć! Przepisz proszę przyjmowanie zleceń w warsztacie na nowy moduł. ⟦u:Baza testowa stoi na porcie 5477⟧, nie na domyślnym. I jeszcze jedno: ⟦u:katalogu legacy nie ruszaj pod żadnym pozorem⟧.
r src/orders/intake.ts | Cześć! Zaczynam od przyjęcia zlecenia, bo reszta od niego zależy.
r src/orders/order.ts | Teraz sam typ zlecenia; statusy wyglądają tu na zwykłe napisy.
g OrderStatus | Sprawdzam, kto jeszcze korzysta ze statusów, zanim coś przestawię.
e src/orders/order.ts | Statusy mają już własny typ. ⟦d:Zostaję przy unii literałów zamiast enuma⟧, bo z tabletu i tak przychodzą gołe napisy.
r src/orders/numbering.ts | Numeracja siedzi w osobnym pliku i jest krótsza, niż się spodziewałem.
e src/orders/numbering.ts | Kusiło mnie UUID, tylko że mechanicy dyktują numery przez telefon, więc ⟦d:numer zlecenia to rok i kolejna liczba⟧.
f pnpm vitest run src/orders | Puszczam testy zleceń.
	 FAIL  src/orders/numbering.test.ts > numbering > never hands out a number twice
	⟦e:AssertionError: expected '2024-0118' not to be '2024-0118'⟧
	 Tests  1 failed | 22 passed (23)
r src/db/sequence.ts | Dwa równoległe przyjęcia dostały ten sam numer. Zaglądam do sekwencji w bazie.
e src/db/sequence.ts | No i wszystko jasne: ⟦c:licznik był odczytywany poza transakcją, więc oba przyjęcia widziały tę samą wartość⟧. Teraz jedno zapytanie podbija go i zwraca.
x pnpm vitest run src/orders | Jeszcze raz to samo polecenie.
r src/orders/tablet.ts | Został ekran tabletu, z którego przychodzi formularz.
e src/orders/tablet.ts | Formularz wysyła teraz także numer ramy. ⟦o:Zdjęć roweru z tabletu na razie nikt nie zmniejsza⟧, a potrafią ważyć po dziesięć megabajtów.
= Przyjęcie zleceń chodzi na nowym module i testy przechodzą. Zdublowane zlecenia z zeszłego tygodnia to nie wina bazy: ⟦c:formularz dawało się wysłać drugi raz, zanim przycisk zgasł⟧. Układ plików jest ten sam co wcześniej, więc zespół łatwo się odnajdzie. ⟦o:Zlecenia otwarte przed marcem trzeba będzie jeszcze przenumerować⟧.
> Świetnie, dzięki. Teraz magazyn części. ⟦u:Stan magazynu nie może nigdy zejść poniżej zera⟧. Wszystkie ⟦u:ceny trzymamy w groszach, jako liczby całkowite⟧.
r src/stock/stock.ts | Jasne, otwieram magazyn i szukam miejsca, w którym zmienia się stan.
r src/stock/movement.ts | Ruchy magazynowe mają cztery rodzaje, z czego jeden wygląda na nieużywany.
g reserveParts | Szukam wszystkich miejsc, które rezerwują części.
e src/stock/movement.ts | Nieużywany rodzaj ruchu zniknął, a pozostałe trzy mają czytelniejsze nazwy.
r src/stock/price.ts | ⟦o:Nie wiadomo, po jakim kursie przeliczać cennik Shimano, który przychodzi w euro⟧.
e src/stock/price.ts | Od wejścia do wyjścia są grosze, a przecinek pojawia się dopiero na ekranie.
f pnpm vitest run src/stock | Testy magazynu, pierwsze podejście.
	 FAIL  src/stock/reserve.test.ts > reserve > refuses more than the shelf holds
	⟦e:AssertionError: promise resolved "{ left: -3 }" instead of rejecting⟧
	 Tests  1 failed | 30 passed (31)
r src/stock/reserve.ts | Minus trzy sztuki na półce. Czytam rezerwację od góry do dołu.
e src/stock/reserve.ts | ⟦c:Zestaw dętek liczył się jako jedna pozycja, choć z półki schodzą dwie sztuki⟧, i stąd ten minus. Mnożnik stoi teraz przed sprawdzeniem stanu.
x pnpm vitest run src/stock | Ponownie magazyn.
r src/stock/suppliers.ts | Dostawców jest trzech i każdy przysyła swój plik CSV.
e src/stock/suppliers.ts | Długo patrzyłem, czy da się to ogarnąć jednym uniwersalnym parserem. Formaty rozjeżdżają się jednak za bardzo i ⟦d:każdy dostawca ma własny, mały parser⟧.
x pnpm tsc --noEmit | Dla porządku przepuszczam całość przez kompilator.
e src/stock/audit.ts | ⟦d:Historii ruchów nie kasujemy, korekta to zawsze nowy wpis⟧; nadpisywanie byłoby prostsze, ale spis z natury by się nie zgadzał.
x pnpm vitest run src/stock src/orders | Oba moduły razem, bo dzielą kilka typów.
= Magazyn jest gotowy, rezerwacja i wydanie idą tą samą ścieżką. Na później zostaje:
+ - ⟦o:próg zamawiania opon zimowych⟧
+ - ⟦o:zwroty do dostawcy, dziś zapisywane na kartce⟧
> Bardzo dobrze. Następne są powiadomienia dla klientów. ⟦u:SMS-y wychodzą wyłącznie między ósmą a dwudziestą⟧.
r src/notify/sms.ts | Otwieram wysyłkę, żeby zobaczyć, co dzieje się przed bramką.
r src/notify/queue.ts | Kolejka to zwykła tablica w pamięci i znika przy każdym restarcie.
e src/notify/queue.ts | ⟦d:Kolejka idzie do Postgresa, Redisa nie dokładamy⟧. Przy czterdziestu wiadomościach dziennie byłaby to armata na wróbla.
r src/notify/templates.ts | Szablony są w dwóch językach, polskie niestety bez ogonków.
e src/notify/templates.ts | Ogonki wróciły, a wiadomość o odbiorze podaje godziny otwarcia.
f pnpm vitest run src/notify | Sprawdzam, jak zachowuje się okno wysyłki.
	 FAIL  src/notify/window.test.ts > window > holds a message until morning
	⟦e:AssertionError: expected '10:00' to be '08:00' // Object.is equality⟧
	 Tests  1 failed | 17 passed (18)
r src/notify/window.ts | Przesunięcie równo o dwie godziny. Patrzę, skąd okno bierze zegar.
e src/notify/window.ts | Winny znaleziony. ⟦c:Kontener chodzi w UTC, a granice okna brały czas lokalny procesu⟧. Podaję teraz strefę Europe/Warsaw wprost.
x pnpm vitest run src/notify | I jeszcze raz powiadomienia.
r src/notify/optout.ts | Zostaje rezygnacja z wiadomości, na razie zapisana przy zleceniu. ⟦o:Do ustalenia z prawnikiem, jak długo przechowujemy samą rezygnację⟧. Czytam dalej.
e src/notify/optout.ts | Klient z dwoma rowerami musiałby rezygnować dwa razy, a to bez sensu: ⟦d:zgoda wisi przy kliencie, nie przy zleceniu⟧.
= Powiadomienia wychodzą o właściwych porach i przeżywają restart serwera. Szablony przejrzałem pod kątem literówek i wyglądają porządnie. ⟦o:Numery zagraniczne bramka nadal po cichu odrzuca⟧. Miłego popołudnia!
> নমস্কার, আমি ঢাকা থেকে কাজটা এগিয়ে নিচ্ছি, এখন থেকে বাংলায় লিখলে সুবিধা হয়। এবার চালান। ⟦u:চালানের পিডিএফ এক মেগাবাইটের বেশি হওয়া চলবে না⟧। আর ⟦u:ছাপা হয়ে যাওয়া চালানের নম্বর কখনো বদলাবে না⟧।
r src/invoice/pdf.ts | নমস্কার! প্রথমে দেখে নিই পিডিএফটা কোথায় তৈরি হয়।
r src/invoice/layout.ts | এবার লেআউট; কলামগুলোর মাপ এখানে হাতে লেখা।
g renderInvoice | চালান আঁকার ফাংশনটা কোথা কোথা থেকে ডাকা হয়, খুঁজে দেখছি।
e src/invoice/layout.ts | কলামের মাপ এখন শতাংশে, তাই লম্বা নামেও টেবিল আর ভাঙে না।
r src/invoice/fonts.ts | এখানে ফন্টের তালিকা, চারটে পরিবার আর দুটো করে ওজন।
e src/invoice/fonts.ts | তিন মেগাবাইটের রহস্য খুলল, ⟦c:প্রতি পাতায় গোটা ফন্টটা আবার জুড়ে দেওয়া হচ্ছিল⟧। এখন কেবল ব্যবহৃত অক্ষরগুলো যায়, তাও একবারই।
x pnpm tsx scripts/sample-invoice.ts | নমুনা চালান বানিয়ে মাপটা দেখে নিচ্ছি।
r src/invoice/number.ts | ফাইলটা এখন দুশো কিলোবাইটের মতো। এবার নম্বরের দিকে যাই।
e src/invoice/number.ts | বাতিল চালানের নম্বর আবার ব্যবহার করা যেত, তবে তাতে নিরীক্ষায় গোলমাল বাধে। তাই ⟦d:বাতিল চালান নিজের নম্বর নিয়েই থেকে যাবে, গায়ে শুধু বাতিলের ছাপ পড়বে⟧।
r src/invoice/vat.ts | ⟦o:পুরনো যন্ত্রাংশে ভ্যাটের কোন হার বসবে, সেটা এখনও কেউ জানায়নি⟧।
e src/invoice/vat.ts | হারগুলো একটা টেবিলে তুলে দিলাম, তারিখ ধরে সহজেই খুঁজে পাওয়া যায়।
x pnpm vitest run src/invoice | চালানের সব পরীক্ষা একসঙ্গে চালাচ্ছি।
= চালান এখন ছোট, পরিষ্কার, আর টেবিলও সোজা থাকে। ⟦d:পিডিএফের জন্য আলাদা সার্ভিস খুলিনি, একই প্রসেসে ওয়ার্কার থ্রেড চলছে⟧; সার্ভার তো একটাই। কোডের মন্তব্যগুলোও একটু গুছিয়ে দিয়েছি, পড়তে আরাম হবে। ⟦o:জার্মান ক্রেতাদের চালান অনুবাদ করা বাকি⟧।
> খুব ভালো হয়েছে। এখন কাউন্টারের পেমেন্ট টার্মিনাল। ⟦u:কার্ডের নম্বর কোনো লগে লেখা যাবে না⟧।
r src/till/terminal.ts | টার্মিনালের সঙ্গে কথা বলার অংশটা দিয়ে শুরু করছি।
r src/till/session.ts | সেশনের অবস্থাগুলো বেশ গোছানো, পড়তে কোনো অসুবিধা হচ্ছে না।
e src/till/terminal.ts | লগে এখন শুধু লেনদেনের আইডি আর শেষ অবস্থাটা যায়।
f pnpm vitest run src/till | কাউন্টারের পরীক্ষাগুলো চালিয়ে দেখি।
	 FAIL  src/till/terminal.test.ts > terminal > charges once when the cable is pulled
	⟦e:AssertionError: expected "charge" to be called 1 times, but got 2 times⟧
	 Tests  1 failed | 12 passed (13)
r src/till/retry.ts | দুবার টাকা কাটা তো গুরুতর ব্যাপার, পুনঃচেষ্টার কোডটা পড়ছি।
e src/till/retry.ts | ⟦c:তার খুলে গেলে পুনঃচেষ্টা প্রতিবার নতুন লেনদেন-চাবি বানাচ্ছিল⟧, ফলে টার্মিনাল সেটাকে আলাদা কেনাকাটা ভাবত। চাবিটা এখন সেশনের সঙ্গে বাঁধা।
x pnpm vitest run src/till | একই পরীক্ষা আরেকবার।
r src/till/drawer.ts | ক্যাশ ড্রয়ারের ফাইলটা মাত্র চল্লিশ লাইনের।
e src/till/drawer.ts | কাউন্টারের লোকজনের সুবিধার কথা ভেবে ⟦d:ড্রয়ার খুলবে কেবল নগদ নিলে, প্রতিটা রসিদে নয়⟧। সংকেতটাও এখন একবারই যায়।
f pnpm eslint src legacy --max-warnings 0 | কোডের ধরনটাও একবার মিলিয়ে নিচ্ছি।
	legacy/print/escpos.ts
	  ⟦e:41:7  error  'paperWidth' is assigned a value but never used⟧  @typescript-eslint/no-unused-vars
	✖ 1 problem (1 error, 0 warnings)
r src/till/receipt.ts | ওটা নিষিদ্ধ ফোল্ডারের ভেতরে, তাই ওখানে হাত দিচ্ছি না। রসিদের কোডটা দেখি।
e src/till/receipt.ts | রসিদের নিচে এখন দোকানের ঠিকানা আর ফেরতের নিয়ম ছাপা হয়।
= টার্মিনাল এখন একবারই টাকা কাটে, লগেও কোনো গোপন তথ্য নেই। যা যা রয়ে গেল:
+ - ⟦o:ব্লিক দিয়ে আংশিক ফেরত⟧
+ - ⟦o:দিনশেষে টার্মিনালের হিসাব মেলানো⟧
> চমৎকার। শেষ কাজ মাসিক প্রতিবেদন। ⟦u:প্রতিবেদন খুলতে দুই সেকেন্ডের বেশি লাগা চলবে না⟧।
r src/report/monthly.ts | প্রতিবেদনের মূল ফাইলটা আগে পড়ে নিচ্ছি।
x pnpm tsx scripts/bench-report.ts | কতক্ষণ লাগে মেপে নিই, পরে তুলনা করা যাবে।
r src/report/query.ts | এগারো সেকেন্ড লাগছে। এবার প্রশ্নটা দেখি, যেটা ডেটাবেসে যায়।
e src/report/query.ts | ধীর হওয়ার পেছনে ছিল এই যে ⟦c:প্রতিটা ফরমায়েশের জন্য যন্ত্রাংশের তালিকা আলাদা করে আনা হচ্ছিল⟧। এখন একটাই যুক্ত প্রশ্ন সব আনে।
x pnpm tsx scripts/bench-report.ts | আবার মাপছি, এবার অনেক কম হওয়ার কথা।
r src/report/chart.ts | সময় নেমে দেড় সেকেন্ড হয়েছে। ছবির অংশটা খুলছি।
e src/report/chart.ts | চার্টের জন্য বড় লাইব্রেরির বদলে ⟦d:হাতে লেখা এসভিজি থাকছে⟧, দুটো স্তম্ভচিত্রের জন্য ওটাই যথেষ্ট।
f pnpm playwright test e2e/report.spec.ts | ব্রাউজারে পাতাটা কেমন দেখায়, সেটাও যাচাই করি।
	  1) [chromium] › e2e/report.spec.ts:9:1 › report opens
	    ⟦e:Error: browserType.launch: Executable doesn't exist at /opt/pw/chromium-1112/chrome⟧
	  1 failed
e src/report/monthly.ts | এখানে ব্রাউজারই বসানো নেই, ⟦o:পাতাটা আসল ব্রাউজারে খুলে দেখা হয়নি⟧। শিরোনামে মাসের নামটা বসিয়ে দিচ্ছি।
x pnpm vitest run | শেষবারের মতো সব পরীক্ষা চালাচ্ছি।
= মাসিক প্রতিবেদন এখন দেড় সেকেন্ডে খোলে, রংগুলোও দোকানের লোগোর সঙ্গে মেলে। ⟦o:গত বছরের অসম্পূর্ণ তথ্যগুলো হাতে মিলিয়ে নিতে হবে⟧। আর কিছু লাগলে বলবেন।
> ধন্যবাদ, আজকের মতো এটুকুই।
`,
}
