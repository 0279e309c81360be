package heldout

import "github.com/plimsoll/plimsoll/window/wire"

var turkish = story{
	name: "a bakery's orders in Python, in Turkish", dialect: wire.Messages, agent: claudeCode,
	said: []string{
		"Fırın zincirinin sipariş sistemini yeni stok servisine taşıyoruz. Stok servisi 8471 portunda dinliyor. Kadıköy şubesinin fişlerine dokunma, muhasebe onları elle okuyor. Testleri her zaman -p no:cacheprovider ile çalıştır.",
		"Güzel. Şimdi teslimat saatlerine geç: kuryeler 06:15 ile 21:40 arasında çalışıyor ve bir kurye en fazla 18 paket taşır.",
		"Tamam, sırada fatura tarafı var. Vergi numarası on haneli olmalı, on bir haneli olanlar şahıs müşterisi. Eski raporları silme.",
		"Raporlar yavaş açılıyor, ona bak. Müdür ekranı 4 saniyeden uzun beklemesin. Bu arada yedekler artık Bursa'daki sunucuda duruyor.",
		"Son olarak mobil uygulamanın hatalarını düzelt; sürüm 5.3 hâlâ Android 9 kullanan şubelerde.",
	},
	user: []string{
		"Stok servisi 8471 portunda dinliyor", "Kadıköy şubesinin fişlerine dokunma", "Testleri her zaman -p no:cacheprovider ile çalıştır", "kuryeler 06:15 ile 21:40 arasında çalışıyor", "bir kurye en fazla 18 paket taşır",
		"Vergi numarası on haneli olmalı", "Eski raporları silme", "Müdür ekranı 4 saniyeden uzun beklemesin", "yedekler artık Bursa'daki sunucuda duruyor", "sürüm 5.3 hâlâ Android 9 kullanan şubelerde",
	},
	chat: []string{
		"Şimdi {file} dosyasına bakıyorum.", "Önce {name} fonksiyonunun nerede çağrıldığını bulayım.", "Testleri bir daha çalıştırıyorum.", "Sıradaki dosyayı okuyorum.", "Bir de {file} içinde arayalım.",
		"Burayı düzeltip devam ediyorum.", "Bakalım {name} burada ne yapıyor.", "Devam ediyorum.", "Şu satırı değiştiriyorum.", "İlgili modülün tamamını görmek istiyorum.", "{name} için kullanım yerlerini listeliyorum.",
		"Bunu {file} içinde kontrol edeyim.", "Değişikliği uyguluyorum.", "Bir sonraki adım olarak {name} sınıfını okuyorum.",
	},
	notes: []string{
		"{name} burada beklediğim gibi görünüyor.", "Bu dosyada {name} iki kez geçiyor.", "{file} epey uzun, yalnızca baş tarafı gerekli.", "{name} ile {name} birbirine benziyor.", "Burada şaşırtıcı bir şey yok.", "{name} yalnızca okuma yapıyor.",
		"Kod temiz, bir şey değiştirmiyorum.", "{file} zaten doğru biçimde.", "Çıktı normal.", "{name} sınıfı {name} sınıfından türüyor.",
	},
	openForm: form{"%s tarafında %s konusu daha ele alınmadı.", [][]any{
		{"Kurye ekranı", "gece vardiyasının saat dilimi"}, {"Fatura servisi", "iade edilen siparişlerin kuruş farkı"}, {"Stok eşitleme", "kopan bağlantıdan sonra yeniden deneme"}, {"Yedekleme", "Bursa sunucusunun disk kotası"}, {"Müşteri kaydı", "aynı telefonla açılan iki hesap"},
	}},
	open: []said{
		{"Pasta siparişlerinde kapora alanı henüz boş bırakılabiliyor, bunu sonra kapatmak gerekecek.", "kapora alanı henüz boş bırakılabiliyor"},
		{"Bayram günlerinin çalışma takvimi hâlâ elle giriliyor; insan kaynaklarından liste bekliyoruz.", "Bayram günlerinin çalışma takvimi hâlâ elle giriliyor"},
		{"Geriye Üsküdar şubesinin yazıcısını denemek kaldı.", "Üsküdar şubesinin yazıcısını denemek kaldı"},
		{"Kampanya kodlarının iki kez kullanılmasını önleyen denetimi yazmadım.", "iki kez kullanılmasını önleyen denetimi yazmadım"},
		{"Glutensiz ürünlerin etiketinde çevirileri kontrol edecek biri lazım.", "etiketinde çevirileri kontrol edecek biri lazım"},
	},
	rest: "Kalanlar:",
	openItems: []said{
		{"un tedarikçisinin yeni fiyat dosyasını içe aktarmak", "un tedarikçisinin yeni fiyat dosyasını içe aktarmak"},
		{"kurye telefonlarında bildirim izni sorulmuyor", "kurye telefonlarında bildirim izni sorulmuyor"},
		{"Ayşe Hanım'a fiş düzenini onaylatmak", "fiş düzenini onaylatmak"},
		{"üç yıldan eski siparişleri arşive taşıyan iş", "üç yıldan eski siparişleri arşive taşıyan iş"},
		{"müdür ekranındaki grafiğin renkleri", "müdür ekranındaki grafiğin renkleri"},
	},
	causeForm: form{"%s sorununun arkasında %s varmış.", [][]any{
		{"Çift fiş", "yazıcı kuyruğunun onayı beklemeden yeniden göndermesi"}, {"Kayıp paket", "kurye kimliğinin sıfırla başlayınca kısalması"}, {"Yavaş rapor", "her satır için ayrı açılan veritabanı bağlantısı"}, {"Yanlış vergi", "oranın sipariş gününe değil bugüne göre okunması"},
	}},
	causes: []said{
		{"Test bu yüzden kalıyordu: stok servisi saniyeyi yuvarlıyor, biz ise milisaniyeyle karşılaştırıyorduk.", "stok servisi saniyeyi yuvarlıyor, biz ise milisaniyeyle karşılaştırıyorduk"},
		{"Siparişler sabah dokuzda kayboluyordu çünkü temizlik görevi yerel saatle değil UTC ile çalışıyor.", "temizlik görevi yerel saatle değil UTC ile çalışıyor"},
		{"Meğer önbellek anahtarında şube numarası yokmuş, iki şube birbirinin stokunu görüyordu.", "önbellek anahtarında şube numarası yokmuş"},
		{"Hata kodda değil: vekil sunucu 1 MB üstündeki gövdeyi sessizce kesiyor.", "vekil sunucu 1 MB üstündeki gövdeyi sessizce kesiyor"},
		{"Kurye atanamıyordu, zira paket sayısı metin olarak tutulduğundan 9 sayısı 18'den büyük çıkıyordu.", "paket sayısı metin olarak tutulduğundan 9 sayısı 18'den büyük çıkıyordu"},
		{"Uygulama açılışta çöküyor; eski Android'de sertifika zinciri eksik kalıyor.", "eski Android'de sertifika zinciri eksik kalıyor"},
		{"İki iş parçacığı aynı sayacı kilitsiz artırıyor, fatura numaraları onun için atlıyor.", "İki iş parçacığı aynı sayacı kilitsiz artırıyor"},
		{"Kilitlenme, günlük yazımının işlem içinde yapılmasından kaynaklanıyor.", "günlük yazımının işlem içinde yapılmasından kaynaklanıyor"},
	},
	decided: []said{
		{"Stok sayımını gece işinde değil her satışta güncelliyorum; gece işi öğlen biten ekmeği göremiyor.", "gece işinde değil her satışta güncelliyorum"},
		{"Kuyruk için Redis yerine PostgreSQL tablosu kullanacağız, şubelerde ikinci bir sunucuya bakacak kimse yok.", "Redis yerine PostgreSQL tablosu"},
		{"Fiyatlar kuruş olarak tamsayı tutulacak, ondalık sayı değil.", "kuruş olarak tamsayı tutulacak, ondalık sayı değil"},
		{"Kurye rotasını kendimiz hesaplamıyoruz; harita servisinin sırasını alıyoruz, kendi çözücümüz on dakikada bitmiyor.", "rotasını kendimiz hesaplamıyoruz; harita servisinin sırasını alıyoruz"},
		{"Eski fatura biçimini dönüştürmektense iki okuyucuyu yan yana bırakıyorum.", "dönüştürmektense iki okuyucuyu yan yana bırakıyorum"},
		{"Silinen müşteriyi gerçekten silmek yerine pasif işaretlemek daha doğru, muhasebe on yıl saklıyor.", "gerçekten silmek yerine pasif işaretlemek"},
		{"Oturum süresi şubelerde 12 saat olsun, merkezde bir saat kalsın.", "şubelerde 12 saat olsun, merkezde bir saat kalsın"},
		{"Raporu sayfalamak varken hepsini akıtmayı seçtim: müdür zaten tamamını yazdırıyor.", "sayfalamak varken hepsini akıtmayı seçtim"},
		{"Bildirimler SMS'le gitsin; e-postayı şubelerde okuyan yok.", "Bildirimler SMS'le gitsin; e-postayı şubelerde okuyan yok"},
		{"Yeniden denemeyi istemciye bırakmıyorum, sunucu üç kez dener ve vazgeçer.", "denemeyi istemciye bırakmıyorum, sunucu üç kez dener"},
		{"Tek depo, iki dağıtım: ortak kodu ayrı pakete çıkarmaktan vazgeçtim.", "ortak kodu ayrı pakete çıkarmaktan vazgeçtim"},
		{"Takvim için yeni bağımlılık almıyorum; standart kitaplıktaki zoneinfo yetiyor.", "yeni bağımlılık almıyorum; standart kitaplıktaki zoneinfo yetiyor"},
	},
	ends: []string{
		"Stok geçişi tamam. Okuma ve yazma yolları yeni servise bağlandı, testlerin hepsi geçiyor.", "Teslimat saatleri oturdu. Değişiklikler üç dosyada.", "Fatura tarafı bitti, örnek dosyalarla denedim.", "Raporlar hızlandı. Ana sayfa artık iki saniyenin altında.", "Mobil düzeltmeler hazır.",
	},
	failing: map[string][]string{
		"pytest -q -p no:cacheprovider tests/stock":   {"..F.\n>       assert count.at == moment\nE       AssertionError: assert 1764230400 == 1764230400.391\n\ntests/stock/test_count.py:44: AssertionError\nFAILED tests/stock/test_count.py::test_moment_of_count - AssertionError\n1 failed, 3 passed in 0.2s", "test_count.py::test_moment_of_count", "assert 1764230400 == 1764230400.391"},
		"pytest -q -p no:cacheprovider tests/courier": {"F\nE       ValueError: courier 0417 has no parcels\n\ntests/courier/test_assign.py:19: ValueError\nFAILED tests/courier/test_assign.py::test_leading_zero - ValueError: courier 0417 has no parcels\n1 failed in 0.1s", "courier 0417 has no parcels"},
		"ruff check billing":                          {"billing/tax.py:31:9: F841 Local variable `rate_of_day` is assigned to but never used\nFound 1 error.", "Local variable `rate_of_day` is assigned to but never used"},
		"python manage.py migrate":                    {"Applying billing.0031_number...Traceback (most recent call last):\npsycopg.errors.UniqueViolation: could not create unique index \"invoice_number_key\"\nDETAIL:  Key (number)=(20412) is duplicated.", "Key (number)=(20412) is duplicated"},
		"./gradlew :mobile:connectedCheck":            {"com.firin.mobile.BootTest > opensOnOldDevices FAILED\n\tjavax.net.ssl.SSLHandshakeException: Trust anchor for certification path not found.\nFAILURE: Build failed with an exception.", "opensOnOldDevices"},
	},
	dirs: []string{"orders/api", "orders/stock", "billing", "courier", "reports", "mobile/src", "tests/stock"}, suffix: ".py",
	stems: []string{"count", "assign", "parcel", "tax", "receipt", "printer", "calendar", "branch", "campaign", "queue", "archive", "label", "session", "route"},
	code:  []string{"def %s(%s, %s=None):", "    return %s.%s(%s)", "    for %s in %s.%s:", "        if not %s: raise %s(%s)", "from %s.%s import %s", "    %s = {\"%s\": %s, \"%s\": 0}", "class %s(%s):", "    # %s of %s", ""},
}
