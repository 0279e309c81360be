package heldout

import "github.com/plimsoll/plimsoll/window/wire"

// clinic is a talk in Romanian and Hebrew. It was written after the other dialogues had been looked at and the extractor had been changed
// for them, and before anybody looked at what it makes of this one.
var clinic = dialogue{
	name: "a clinic's appointments in Ruby, in Romanian and Hebrew", dialect: wire.Chat, agent: harbour, rows: 60,
	code: []string{"  def %s(%s, %s: nil)", "    %s = %s.%s(%s)", "    return %s unless %s.%s?", "    %s.each { |%s| %s.%s(%s) }", "  end", "module %s", "  attr_reader :%s, :%s", "  # %s of %s", "    raise %s::%s, \"%s\" if %s.nil?", "  validates :%s, presence: true"},
	lines: `
> Mută programările clinicii pe calendarul nou, te rog. ⟦u:Serverul de probă ascultă pe portul 7209⟧. ⟦u:Tabela asiguratilor nu se modifică, e a Casei⟧. O consultație ⟦u:durează cel puțin douăzeci de minute⟧.
r app/models/slot.rb | Încep cu intervalele, ca să văd de unde vin orele libere.
r app/models/doctor.rb | Apoi modelul medicilor, care pare să țină și programul de gardă.
g free_slots | Caut cine cere intervalele libere, fiindcă semnătura se va schimba puțin.
e app/models/slot.rb | ⟦d:Intervalele se calculează la cerere, nu se mai țin în tabelă⟧: gărzile se schimbă de trei ori pe săptămână.
r app/services/booking.rb | Urmează rezervarea propriu-zisă. Fișierul e lung, dar ramurile sunt clare.
e app/services/booking.rb | Aici pun durata minimă și mut verificarea înaintea scrierii.
f bundle exec rspec spec/services/booking_spec.rb | Rulez testele rezervării.
	  1) Booking refuses two patients at one time
	     Failure/Error: ⟦e:expect { second.save! }.to raise_error(SlotTaken)⟧
	       expected SlotTaken but nothing was raised
	14 examples, 1 failure
r app/models/lock.rb | Doi pacienți intră pe aceeași oră. Mă uit întâi la blocare, nu la test.
e app/models/lock.rb | Asta era: ⟦c:blocarea se elibera înainte să se încheie tranzacția⟧, așa că a doua cerere vedea ora liberă. Acum se eliberează după.
x bundle exec rspec spec/services/booking_spec.rb | Din nou.
r app/models/holiday.rb | Zilele libere legale stau aici.
e app/models/holiday.rb | M-am gândit la un serviciu extern, dar ⟦d:sărbătorile se iau din fișierul clinicii⟧, pentru că fiecare cabinet are punțile lui.
r app/mailers/reminder_mailer.rb | Mai văd o dată mesajele de reamintire.
e app/mailers/reminder_mailer.rb | Textul are acum numele medicului și etajul.
= Programările merg pe calendarul nou. ⟦o:Cabinetul de la Feteasca încă scrie în agenda veche⟧. În plus, ⟦o:reamintirile pentru minori pleacă tot la adresa copilului⟧.
> Bun. Acum rețetele. ⟦u:O rețetă expiră după treizeci de zile⟧. ⟦u:Dozele se afișează numai în miligrame⟧.
r app/models/prescription.rb | Citesc modelul rețetelor.
r app/services/dose.rb | Și conversia dozelor, unde probabil e cea mai multă treabă.
e app/services/dose.rb | Totul trece prin miligrame, iar afișarea nu mai rotunjește.
f bundle exec rspec spec/services/dose_spec.rb | Testez conversia.
	  1) Dose keeps micrograms exact
	     Failure/Error: expect(dose.to_mg).to eq(BigDecimal("0.125"))
	       ⟦e:expected: 0.125e0⟧
	            got: 0.13e0
	9 examples, 1 failure
r app/models/unit.rb | O valoare e rotunjită pe drum. Caut unde.
e app/models/unit.rb | ⟦c:Unitatea era citită din coloana de afișare, care are două zecimale⟧. O iau din coloana brută.
x bundle exec rspec spec/services/dose_spec.rb | Încă o dată.
r app/services/expiry.rb | Expirarea e scurtă.
e app/services/expiry.rb | ⟦d:Termenul curge de la semnare, nu de la tipărire⟧; farmaciile tipăresc și după o săptămână.
= Rețetele sunt gata. Au rămas:
+ - ⟦o:rețetele pentru stupefiante, cer alt formular⟧
+ - ⟦o:de întrebat farmacia despre codul de bare⟧
+ - ⟦o:istoricul dinainte de 2015⟧
> שלום, אני ממשיכה מחיפה, בעברית. ⟦u:אסור לשלוח תוצאות בדיקה במסרון⟧. ⟦u:המערכת חייבת לענות תוך שלוש שניות⟧.
r app/services/results.rb | שלום! אני מתחילה מהתוצאות, כדי להבין מאיפה הן מגיעות ולמי.
r app/services/labs.rb | עכשיו החיבור למעבדות.
g notify_patient | מחפשת מי שולח הודעות למטופלים.
e app/services/results.rb | ⟦d:התוצאות נפתחות רק אחרי שהרופא אישר אותן⟧, גם אם המעבדה כבר שלחה.
f bundle exec rspec spec/services/results_spec.rb | מריצה את הבדיקות של התוצאות.
	  1) Results hides what belongs to another patient
	     Failure/Error: expect(page).not_to include(other.code)
	       ⟦e:expected "A-77 B-12" not to include "B-12"⟧
	11 examples, 1 failure
r app/models/sample.rb | מטופל רואה דגימה של מטופל אחר. קודם בודקת את המפתח שלפיו מחברים.
r app/services/match.rb | וגם את ההתאמה עצמה.
e app/services/match.rb | מצאתי: ⟦c:ההתאמה נעשתה לפי שם ותאריך לידה ולא לפי מספר הדגימה⟧, ולכן תאומים התערבבו. תיקנתי למספר הדגימה.
x bundle exec rspec spec/services/results_spec.rb | שוב.
r config/initializers/cache.rb | נשאר עניין הזמן, אז אני מסתכלת על המטמון.
e config/initializers/cache.rb | ⟦d:המטמון נשמר בזיכרון של כל שרת ולא ברדיס⟧; הרשת בין הבניינים נופלת פעמיים ביום.
x bundle exec rake bench:results | מודדת: ירד מתשע שניות לשתיים.
= התוצאות נפתחות רק לרופא ולמטופל הנכון. ⟦o:המעבדה בעכו עדיין שולחת קבצים בפקס⟧. ⟦o:לא נבדק מה קורה כשהרופא בחופשה⟧.
> מצוין. עכשיו החיובים. ⟦u:אין לחייב על ביטול עד עשרים וארבע שעות מראש⟧.
r app/services/billing.rb | קוראת את חישוב החיוב.
r app/models/invoice.rb | וגם את החשבוניות.
e app/services/billing.rb | הביטול נבדק לפני החיוב, והשעות נספרות מהתור עצמו.
f bundle exec rubocop app | בודקת גם את הסגנון.
	app/services/billing.rb:64:5: ⟦e:W: Lint/UselessAssignment: Useless assignment to variable - refund_total⟧
	41 files inspected, 1 offense detected
e app/models/invoice.rb | המשתנה המיותר ירד. באותה הזדמנות: ⟦d:מספרי החשבוניות רצים לפי סניף ולא לכל הרשת⟧, כך רואה החשבון ביקש.
x bundle exec rspec | כל הבדיקות.
= החיובים תקינים. ⟦c:החיוב הכפול מחודש מאי נבע מכך שלחיצה שנייה על הכפתור פתחה תשלום חדש⟧.
+
+ נשאר לעשות:
+ - ⟦o:זיכויים לקופת חולים⟧
+ - ⟦o:בדיקת נגישות לטופס התשלום⟧
> אחרון: המסכים בחדר ההמתנה.
r app/views/board.rb | מסתכלת על המסך.
e app/views/board.rb | ⟦d:על המסך מופיע מספר תור ולא שם⟧, בגלל הפרטיות.
= המסכים עובדים, אבל ⟦o:בקומה השלישית חסר כבל⟧.
> תודה, להתראות.
`,
}
