package heldout

import "github.com/plimsoll/plimsoll/window/wire"

// observatory is a talk in Persian and Dutch. It was written by somebody who had seen nothing of the extractor.
var observatory = dialogue{
	name: "an observatory's nights in Python, in Persian and Dutch", dialect: wire.Responses, agent: codex, rows: 34,
	code: []string{"def %s(%s, *, %s=None):", "    %s = self.%s.%s(%s)", "    if %s.%s is None:", "        return %s", "    for %s in %s.%s:", "        %s.%s(%s)", "class %s(%s):", "    # %s of %s", "    raise %s(\"%s without %s\")", "from %s.%s import %s", "    with %s.open(%s) as %s:"},
	//lint:ignore ST1018 Persian is written with U+200C inside its words.
	lines: `
> سلام. لطفاً زمان‌بند رصدخانه را بازنویسی کن. ⟦u:تلسکوپ هرگز نباید به زیر بیست درجه ارتفاع برود⟧. ضمناً ⟦u:همهٔ زمان‌ها به وقت جهانی ذخیره شوند⟧.
r scheduler/plan.py | سلام، از برنامهٔ شبانه شروع می‌کنم تا ببینم صف چطور ساخته می‌شود.
r scheduler/target.py | حالا تعریف هدف‌ها؛ به نظر می‌رسد مختصات با دو قالب متفاوت وارد می‌شود.
g next_target | دنبال جاهایی می‌گردم که هدف بعدی را می‌خواهند.
e scheduler/target.py | مختصات از این به بعد فقط یک قالب دارد و بقیه هنگام ورود تبدیل می‌شوند.
r scheduler/score.py | امتیازدهی در این فایل است و از آنچه فکر می‌کردم کوتاه‌تر درآمد.
e scheduler/score.py | بهینه‌سازی کامل شب وسوسه‌انگیز بود، اما هوا هر ساعت عوض می‌شود؛ ⟦d:هدف بعدی را حریصانه و لحظه‌ای برمی‌داریم⟧.
f pytest tests/test_plan.py | آزمون‌های برنامه را اجرا می‌کنم.
	tests/test_plan.py::test_low_targets_are_skipped FAILED
	⟦e:E   AssertionError: assert 18.6 >= 20.0⟧
	1 failed, 16 passed in 3.41s
r scheduler/horizon.py | هدفی با ارتفاع هجده درجه رد شده است. سراغ محاسبهٔ افق می‌روم.
e scheduler/horizon.py | پیدا شد: ⟦c:ارتفاع برای آغاز نوردهی حساب می‌شد نه برای پایان آن⟧. حالا هر دو سر بازه بررسی می‌شود.
x pytest tests/test_plan.py | یک بار دیگر همان آزمون‌ها.
r scheduler/moon.py | فاصله از ماه هم این‌جاست، با چند ضریب که توضیحی ندارند. ⟦o:هنوز نمی‌دانیم ضریب مهتاب را چه کسی و از کجا آورده⟧. فعلاً ادامه می‌دهم.
e scheduler/moon.py | ضریب‌ها نام گرفتند و به بالای فایل رفتند، مقدارشان همان است که بود.
= زمان‌بند تازه کار می‌کند و آزمون‌هایش سبز است. نام‌گذاری‌ها را هم با بقیهٔ پروژه هماهنگ کردم. ⟦o:سیارک‌های سریع هنوز در صف جا نمی‌گیرند⟧، چون مختصاتشان ثابت نیست.
> عالی بود. حالا نوبت گنبد و هواشناسی است. ⟦u:با باد بالای پنجاه کیلومتر گنبد باید بسته بماند⟧.
r dome/controller.py | چشم، اول کنترل‌کنندهٔ گنبد را می‌خوانم.
r dome/weather.py | داده‌های هوا از سه حسگر می‌آید و هر کدام آهنگ خودش را دارد.
g is_safe | می‌خواهم ببینم چه کسی از ایمن بودن هوا می‌پرسد.
e dome/weather.py | میانگین گرفتن از حسگرها تمیزتر به نظر می‌آمد. با این حال ⟦d:بدترین حسگر حرف آخر را می‌زند⟧، چون یخ زدن یکی از آن‌ها بقیه را هم گمراه می‌کند.
r dome/shutter.py | ⟦o:معلوم نیست دریچهٔ پایینی هنگام قطع برق چه می‌کند⟧.
e dome/shutter.py | فرمان‌های دریچه حالا پاسخ می‌گیرند و نتیجه در گزارش شب می‌آید.
f pytest tests/test_dome.py | آزمون گنبد را امتحان می‌کنم.
	tests/test_dome.py::test_gust_closes_dome FAILED
	⟦e:E   TimeoutError: dome still open after 90 s⟧
	1 failed, 11 passed in 94.02s
r dome/gust.py | گنبد نود ثانیه باز مانده است. تشخیص تندباد را نگاه می‌کنم.
e dome/gust.py | ⟦c:سرعت باد به متر بر ثانیه می‌رسید ولی با آستانهٔ کیلومتری سنجیده می‌شد⟧، برای همین هیچ تندبادی خطرناک شمرده نمی‌شد. یکا را همان لب ورودی یکسان کردم.
x pytest tests/test_dome.py | دوباره آزمون گنبد.
r dome/manual.py | حالت دستی هم فایل جداگانه‌ای دارد که مدت‌هاست دست نخورده.
e dome/manual.py | ⟦d:حالت دستی پس از ده دقیقه خودبه‌خود لغو می‌شود⟧ و دیگر تا صبح باز نمی‌ماند؛ رصدگرها گاهی خوابشان می‌برد.
x python -m dome.simulate --night 42 | یک شب ساختگی را از اول تا آخر اجرا می‌کنم.
= گنبد در شبیه‌سازی به‌موقع بسته شد و گزارشش هم خواناست. این‌ها باقی ماند:
+ - ⟦o:حسگر باران پشت‌بام غربی⟧
+ - ⟦o:هشدار پیامکی برای نگهبان شب⟧
> خیلی ممنون. حالا پردازش تصویرها. ⟦u:فایل‌های خام را به هیچ وجه بازنویسی نکن⟧. ⟦u:پردازش هر تصویر حداکثر دو گیگابایت حافظه بگیرد⟧.
r reduce/pipeline.py | با خط پردازش شروع می‌کنم تا ترتیب مرحله‌ها دستم بیاید.
r reduce/frames.py | تعریف قاب‌ها این‌جاست؛ تاریک و تخت و بایاس، هر سه کنار هم.
e reduce/frames.py | خروجی به پوشهٔ جدا می‌رود و پوشهٔ خام فقط برای خواندن باز می‌شود.
r reduce/flat.py | قاب‌های تخت را می‌خوانم که بیشترین محاسبه آن‌جاست.
e reduce/flat.py | به جای میانگین، ⟦d:قاب‌های تخت با میانه ترکیب می‌شوند⟧؛ ستاره‌های سپیده‌دم با میانگین رد می‌گذارند.
f pytest tests/test_reduce.py | حالا آزمون پردازش.
	tests/test_reduce.py::test_dark_is_subtracted_once FAILED
	⟦e:E   AssertionError: background level -41.8, wanted 0.0 +- 0.5⟧
	1 failed, 23 passed in 12.77s
r reduce/dark.py | پس‌زمینه منفی شده است. مرحلهٔ کم کردن قاب تاریک را خط به خط می‌خوانم.
e reduce/dark.py | ماجرا از این قرار است که ⟦c:قاب تاریک خودش بایاس داشت و بایاس دو بار کم می‌شد⟧. حالا قاب تاریک هنگام ساخت تمیز می‌شود.
x pytest tests/test_reduce.py | بار دیگر آزمون پردازش را اجرا می‌کنم.
r reduce/memory.py | می‌ماند حافظه؛ نگاهی به بارگذاری تصویرها می‌اندازم.
e reduce/memory.py | تصویرها تکه‌تکه خوانده می‌شوند و اوج مصرف به یک و نیم گیگابایت رسید.
= پردازش تصویرها سر جایش است و نمودارها هم صاف شده‌اند. نوارهای افقی هفتهٔ پیش توضیح ساده‌ای داشت، ⟦c:دوربین پیش از خنک شدن کامل نوردهی را آغاز کرده بود⟧. ⟦d:از پردازندهٔ گرافیکی چشم پوشیدیم، همان هشت هسته کافی است⟧. ⟦o:تصویرهای دوربین قدیمی را باید جداگانه کالیبره کنیم⟧. شب خوبی داشته باشید.
> Hoi, ik neem het over vanuit Leiden, dus vanaf hier graag in het Nederlands. Nu het archief. ⟦u:De archiefserver luistert op poort 8642⟧. ⟦u:Waarnemingen van gasten blijven achttien maanden afgeschermd⟧.
r archive/store.py | Hoi! Ik begin bij de opslag, dan zie ik meteen hoe de bestanden heten.
r archive/index.py | De index staat in een eigen module en is netjes van commentaar voorzien.
g find_exposure | Even kijken wie er allemaal opnamen opzoekt.
e archive/index.py | Elasticsearch lag voor de hand, maar niemand hier wil dat beheren. ⟦d:De index wordt gewoon SQLite⟧, dat past ruim op één schijf.
r archive/access.py | Dan de toegang. Er zijn drie rollen, en die heten overal hetzelfde.
e archive/access.py | De termijn wordt nu op één plek berekend en de rest vraagt het daar na.
f pytest tests/test_archive.py | De tests van het archief erbij.
	tests/test_archive.py::test_guest_data_stays_hidden FAILED
	⟦e:E   AssertionError: 'NGC7331_R_014.fits' unexpectedly visible to public⟧
	1 failed, 18 passed in 5.60s
r archive/cache.py | Een afgeschermd bestand is toch zichtbaar. Ik lees de cache, want die zit ertussen.
e archive/cache.py | Dat lag aan iets kleins: ⟦c:de sleutel van de cache bevatte de rol van de bezoeker niet⟧. Wie na een gast kwam, kreeg dus diens lijst te zien.
x pytest tests/test_archive.py | Nog een keer het archief.
r archive/export.py | ⟦o:Of de export naar het Virtual Observatory nog gebruikt wordt, moet iemand navragen⟧.
e archive/export.py | De velden staan nu in de volgorde van de standaard en de koptekst klopt weer.
f mypy --strict archive scheduler | Ik laat ook de typecontrole meelopen.
	archive/wcs.py:57: ⟦e:error: Incompatible return value type (got "ndarray[Any, Any]", expected "SkyCoord")⟧
	Found 1 error in 1 file (checked 31 source files)
r archive/wcs.py | Die melding komt uit de coördinaten; ik kijk wat die functie teruggeeft.
e archive/wcs.py | De functie heeft nu een docstring met een voorbeeld. ⟦o:Het terugkeertype zelf klopt nog niet⟧, daarvoor moeten alle aanroepers mee.
= Het archief draait en gasten zien alleen wat van henzelf is. De logregels zijn wat korter geworden, dat leest prettiger. ⟦d:Bestanden krijgen een hash in de naam in plaats van een volgnummer⟧, want twee telescopen telden door elkaar heen.
> Mooi werk. Nu de waarschuwingen voor nieuwe supernova's. ⟦u:Een melding moet binnen dertig seconden de deur uit zijn⟧.
r alerts/detect.py | Ik pak eerst de detectie, daar begint de klok te lopen.
r alerts/compare.py | Het vergelijken met de referentiebeelden zit hier, in vier overzichtelijke stappen.
x python -m alerts.replay --night 2023-11-04 | Ik speel een oude nacht af om te zien hoe lang alles duurt.
r alerts/catalog.py | Bijna twee minuten per beeld. De catalogus is de volgende die ik openmaak.
e alerts/catalog.py | De vertraging kwam doordat ⟦c:voor elke bron opnieuw verbinding met de catalogus werd gemaakt⟧. Eén verbinding per nacht is genoeg.
x python -m alerts.replay --night 2023-11-04 | Dezelfde nacht nog eens, nu met een stopwatch ernaast.
r alerts/filter.py | Elf seconden, dat scheelt. Nu het filter dat valse treffers weggooit.
e alerts/filter.py | Een neuraal net zou mooier klinken, maar met zestig voorbeelden kom je nergens; ⟦d:we houden het bij drie vaste drempels⟧.
r alerts/publish.py | Het versturen is een kort bestand met één functie en veel uitzonderingen.
e alerts/publish.py | Bij een storing probeert hij het drie keer, met steeds een langere pauze.
x pytest tests/test_alerts.py | En de tests van de meldingen.
= Meldingen gaan nu na elf seconden weg, ruim op tijd dus. ⟦d:De eigen mailinglijst laten we vallen, alles loopt via TNS⟧. Wat er nog ligt:
+ - ⟦o:dubbele meldingen als twee telescopen hetzelfde zien⟧
+ - ⟦o:een testkanaal bij de internationale dienst⟧
> Prima. Als laatste de pagina voor de bezoekersavonden. ⟦u:Op de bezoekerspagina komen geen scripts van buiten⟧.
r site/evenings.py | Komt goed. Ik lees eerst hoe een avond wordt samengesteld.
r site/booking.py | Het reserveren is een formulier met vijf velden en een bevestiging per mail.
e site/booking.py | ⟦d:Reserveren kan zonder account, alleen met een mailadres⟧. Inloggen voor één avond sterrenkijken vond iedereen overdreven.
x pytest tests/test_site.py | Ik draai de tests van de site.
r site/calendar.py | Groen. De kalender toonde in oktober een avond dubbel, dus die bekijk ik ook.
e site/calendar.py | Gevonden, en eigenlijk wel grappig: ⟦c:de avond van de wintertijd telde vijfentwintig uur en viel daardoor in twee dagen⟧. Ik reken nu met datums in plaats van uren.
f docker compose run --rm site pytest tests/e2e | Tot slot de hele keten in de container.
	tests/e2e/test_booking.py::test_mail_arrives ERROR
	⟦e:E   ConnectionRefusedError: [Errno 111] Connection refused: mailhog:1025⟧
	1 error in 8.15s
r site/mail.py | De mailserver is in deze omgeving niet te bereiken, dus verder zonder.
e site/mail.py | De bevestiging noemt nu ook de parkeerplaats en het advies om warme kleren mee te nemen.
x ruff check site | Nog een laatste blik op de stijl.
= De bezoekerspagina is klaar en laadt niets van buiten. De teksten heb ik nagelezen en hier en daar wat vriendelijker gemaakt. ⟦o:Of de bevestigingsmail echt aankomt, is nog niet getest⟧. Veel plezier met de eerste avond!
> Dank je wel, tot de volgende keer.
`,
}
