package heldout

import "github.com/plimsoll/plimsoll/window/wire"

// library is the talk of a team that changed hands: first in Vietnamese, then in Finnish. It was written before anybody looked at what the
// extractor makes of either.
var library = dialogue{
	name: "a library's loans in Elixir, in Vietnamese and Finnish", dialect: wire.Gemini, agent: geminiCLI,
	code: []string{"  def %s(%%{%s: %s} = %s, opts) do", "    with {:ok, %s} <- %s.%s(%s),", "         {:ok, %s} <- %s(%s) do", "      %s |> %s() |> %s()", "    end", "  end", "  @doc \"%s of %s\"", "  defp %s(%s), do: %s", "  alias Library.%s.{%s, %s}", "    field :%s, :%s, default: nil"},
	rows: 100,
	lines: `
> Chuyển phần mượn sách của thư viện tỉnh sang cơ sở dữ liệu mới giúp mình nhé. ⟦u:Máy chủ thử nghiệm nghe ở cổng 7741⟧, còn ⟦u:bảng doc_gia là của phòng hành chính nên tuyệt đối không sửa cấu trúc⟧. Mỗi bạn đọc ⟦u:chỉ được giữ tối đa năm cuốn cùng lúc⟧.
r lib/loans/checkout.ex | Mình bắt đầu từ chỗ cho mượn, xem luồng hiện tại chạy thế nào đã.
r lib/loans/limits.ex | Tiếp theo là phần giới hạn số cuốn.
g held_copies | Tìm xem hàm đếm sách đang giữ được gọi ở đâu.
r lib/catalog/copy.ex | Phần này khá gọn. Xem thêm bản ghi của từng cuốn.
e lib/loans/checkout.ex | Hai cách: khoá cả dòng bạn đọc khi mượn, hoặc để ràng buộc trong cơ sở dữ liệu tự chặn. ⟦d:Mình chọn ràng buộc trong cơ sở dữ liệu chứ không khoá dòng⟧, vì quầy và cổng tự phục vụ ghi cùng lúc. Sửa luồng mượn theo hướng đó.
f mix test test/loans/checkout_test.exs | Chạy thử bộ kiểm tra của phần mượn.
	  1) test sixth copy is refused at the self-service gate (Library.CheckoutTest)
	     test/loans/checkout_test.exs:58
	     ** (MatchError) no match of right hand side value: ⟦e:{:ok, %Loan{copies_held: 6}}⟧
	12 tests, 1 failure
r lib/loans/limits.ex | Cổng tự phục vụ vẫn cho mượn cuốn thứ sáu. Đọc lại phần đếm.
e lib/loans/limits.ex | À, ra là thế: ⟦c:phép đếm bỏ qua những cuốn đang ở trạng thái chờ quét lại⟧, nên bạn đọc có năm cuốn mà hệ thống chỉ thấy bốn. Thêm trạng thái ấy vào phép đếm.
x mix test test/loans/checkout_test.exs | Chạy lại.
r lib/loans/renew.ex | Giờ đến phần gia hạn.
e lib/loans/renew.ex | Đổi cách tính ngày trả. ⟦d:Ngày nghỉ lễ lấy từ tệp của Sở Văn hoá, không tự tính âm lịch⟧ cho khỏi lệch Tết.
r lib/loans/fine.ex | Còn tiền phạt thì sao? Xem qua một lượt.
g fine_per_day | Tìm nơi dùng mức phạt mỗi ngày.
e lib/loans/fine.ex | Sửa chỗ làm tròn tiền phạt.
= Phần mượn và gia hạn đã chạy trên cơ sở dữ liệu mới. ⟦o:Riêng sách mượn liên thư viện thì mình chưa đụng tới⟧ vì chưa có dữ liệu mẫu. Ngoài ra ⟦o:thông báo quá hạn vẫn gửi bằng tiếng Anh⟧.
> Tốt. Giờ đến việc đặt trước sách. ⟦u:Thời gian giữ chỗ là bốn mươi tám giờ⟧, và ⟦u:thông báo cho bạn đọc chỉ gửi trong khoảng từ tám giờ sáng đến bảy giờ tối⟧.
r lib/holds/queue.ex | Xem hàng đợi đặt trước.
r lib/holds/expiry.ex | Và phần hết hạn giữ chỗ.
e lib/holds/expiry.ex | Đưa thời hạn mới vào cấu hình.
r lib/notify/window.ex | Khung giờ gửi tin nằm ở đây thì phải.
e lib/notify/window.ex | Mã đang so giờ theo UTC. ⟦d:Giờ trong khung gửi luôn hiểu theo múi giờ của thư viện⟧, bạn đọc ở nước ngoài là ngoại lệ quá hiếm. Sửa luôn.
f mix test test/holds | Kiểm tra cả thư mục đặt trước.
	  1) test a hold that expires at midnight frees the copy (Library.ExpiryTest)
	     test/holds/expiry_test.exs:31
	     Assertion with == failed
	     ⟦e:left:  [:waiting, :ready, :ready]⟧
	     right: [:waiting, :waiting, :ready]
	9 tests, 1 failure
r lib/holds/queue.ex | Hai người cùng được báo sách sẵn sàng. Lạ nhỉ, xem lại chỗ lấy người kế tiếp.
r lib/holds/sweeper.ex | Có thể tiến trình dọn dẹp cũng lấy một người.
e lib/holds/sweeper.ex | Đúng vậy. ⟦c:Tiến trình dọn dẹp và tiến trình trả sách cùng đẩy hàng đợi mà không ai giữ khoá⟧; đêm nào trả sách sát nửa đêm là hai bạn đọc nhận tin. Gom về một chỗ.
x mix test test/holds | Chạy lại toàn bộ.
r lib/holds/pickup.ex | Xem màn hình nhận sách ở quầy.
e lib/holds/pickup.ex | Thêm chỗ quét thẻ. Mình có nghĩ đến mã QR trên điện thoại, nhưng ⟦d:giữ thẻ nhựa làm chính, mã QR để sau⟧: nửa số bạn đọc ở huyện chưa dùng điện thoại thông minh.
g pickup_code | Xem mã nhận sách còn dùng ở đâu.
r lib/mailer/sms.ex | Phần nhắn tin.
e lib/mailer/sms.ex | Sửa để tin nhắn có dấu không bị cắt.
+ ⟦c:Nhà mạng tính tin nhắn có dấu theo bảy mươi ký tự chứ không phải một trăm sáu mươi⟧, cho nên đoạn cuối biến mất.
= Đặt trước xong. Những việc chưa làm:
+ - ⟦o:chuyển các lượt đặt trước cũ của chi nhánh Mỹ Lộc⟧
+ - ⟦o:hỏi nhà mạng về tên người gửi⟧
+ - ⟦o:viết kiểm tra cho trường hợp hai quầy quét cùng một thẻ⟧
> Phần tìm kiếm chậm quá, cậu xem nốt rồi bàn giao cho bạn Aino nhé. ⟦u:Đừng bật thêm máy chủ tìm kiếm riêng⟧.
r lib/catalog/search.ex | Đọc câu truy vấn tìm kiếm.
x mix run bench/search.exs | Đo thử trước đã.
r priv/repo/migrations/0042_search.exs | Xem chỉ mục hiện có.
e priv/repo/migrations/0043_unaccent.exs | Lý do chậm: ⟦c:chỉ mục lập trên tên có dấu còn truy vấn lại bỏ dấu nên quét cả bảng⟧. Thêm chỉ mục trên tên đã bỏ dấu.
x mix run bench/search.exs | Đo lại: từ hai giây xuống còn bốn mươi mili giây.
e lib/catalog/search.ex | ⟦d:Kết quả xếp theo lượt mượn, không theo độ khớp⟧; độ khớp trên tên ngắn toàn ra kết quả ngẫu nhiên. Sửa câu truy vấn.
= Tìm kiếm giờ nhanh rồi. ⟦o:Tên tác giả viết theo lối cũ như Nguyễn Văn Vĩnh - Tân Nam Tử vẫn chưa tách được bút danh⟧. Bàn giao cho Aino từ đây.
> Moi, Aino tässä. Jatketaan suomeksi. Ensin palautusautomaatti: ⟦u:automaatti saa yrittää yhteyttä korkeintaan kolme kertaa⟧, ja ⟦u:lokit viedään Tampereen palvelimelle⟧.
r lib/returns/kiosk.ex | Moi! Katson ensin palautusautomaatin koodin.
r lib/returns/belt.ex | Lajitteluhihna on omassa moduulissaan.
e lib/returns/kiosk.ex | Rajaan yritykset kolmeen.
f mix test test/returns/kiosk_test.exs | Ajetaan automaatin testit.
	  1) test the belt stops when the bin is full (Library.KioskTest)
	     ** (exit) exited in: ⟦e:GenServer.call(Library.Belt, :halt, 5000)⟧
	         ** (EXIT) time out
	7 tests, 1 failure
r lib/returns/belt.ex | Pysäytys jää odottamaan. Katsotaan tilakonetta tarkemmin.
r lib/returns/scanner.ex | Ja viivakoodinlukija siinä vieressä.
e lib/returns/belt.ex | Nyt selvisi: ⟦c:hihna odottaa lukijan kuittausta samassa prosessissa, joka kuittauksen pitäisi lähettää⟧. Siirrän odotuksen omaan tehtäväänsä.
x mix test test/returns | Uusi ajo.
r lib/returns/sorting.ex | Sitten lajittelusäännöt.
e lib/returns/sorting.ex | ⟦d:Lajittelu tehdään hyllyluokan eikä kotikirjaston mukaan⟧, koska kuljetusauto purkaa kärryt luokittain.
g bin_capacity | Etsin vielä, missä laatikoiden koko määritellään.
e config/returns.exs | Laatikon koko kuuluu asetuksiin. Siirretty.
r lib/returns/damage.ex | Vaurioituneet niteet käsitellään täällä.
e lib/returns/damage.ex | Harkitsin kuvantunnistusta, mutta ⟦d:vauriot kirjaa edelleen ihminen tiskillä⟧. Väärä hälytys maksaisi enemmän kuin viivästys.
= Automaatti toimii ja lokit menevät Tampereelle. ⟦o:Kuitin tulostusta ei ole kokeiltu oikealla laitteella⟧, ja ⟦o:yöpalautuksen hälytysraja odottaa vielä päätöstä vartiointiliikkeeltä⟧.
> Hienoa. Seuraavaksi maksut. ⟦u:Alaikäiseltä ei peritä myöhästymismaksua⟧. ⟦u:Kuitit säilytetään kuusi vuotta⟧. Aja testit aina ennen kuin sanot valmista.
r lib/payments/charge.ex | Luen maksujen laskennan.
r lib/payments/age.ex | Ikä päätellään syntymäajasta, katson miten.
e lib/payments/charge.ex | Lisään alaikäisten poikkeuksen.
f mix test test/payments | Testit.
	  1) test a reader who turns eighteen today pays (Library.AgeTest)
	     ⟦e:code:  assert Age.adult?(~D[2008-02-29], ~D[2026-02-28])⟧
	     left: false
	5 tests, 1 failure
e lib/payments/age.ex | Karkauspäivänä syntyneillä raja heittää. ⟦c:Vuosien erotus laskettiin päivistä jakamalla 365:llä⟧. Lasken nyt kalenterista.
f mix dialyzer | Vielä tyyppitarkistus.
	lib/payments/gateway.ex:71:⟦e:no_return Function settle_batch/2 has no local return.⟧
	done (warnings were emitted)
r lib/payments/gateway.ex | Maksuvälittäjän rajapinta, rivi 71.
e lib/payments/gateway.ex | Tilitys palaa nyt kunnolla. Samalla: ⟦d:rahasummat ovat sentteinä kokonaislukuja, Decimal jätetään pois⟧. Kirjanpito hyväksyi.
x mix dialyzer | Puhdas.
r lib/payments/receipt.ex | Kuittien arkistointi.
e lib/payments/receipt.ex | ⟦d:Kuitit tallennetaan PDF/A-muodossa, HTML ei kelpaa tilintarkastajalle⟧. Säilytysaika asetuksista.
r lib/payments/refund.ex | Palautukset puuttuvat kokonaan suunnitelmasta, vilkaisen silti.
x mix test | Koko testisarja läpi.
= Maksut ovat valmiit, kaikki testit menivät läpi. ⟦c:Viimeviikkoinen kaksoisveloitus johtui siitä, että välittäjä lähettää saman ilmoituksen uudestaan, jos vastaus kestää yli sekunnin⟧.
+
+ Jäljellä:
+ - ⟦o:hyvitykset, kun kirja löytyy maksun jälkeen⟧
+ - ⟦o:vanhojen laskujen siirto ennen vuodenvaihdetta⟧
+ - ⟦o:saavutettavuustarkastus maksusivulle⟧
> Kiitos! Tehdään vielä vuosiraportti.
r lib/reports/yearly.ex | Katson raporttipohjan.
e lib/reports/yearly.ex | Lainat ryhmitellään kunnittain. ⟦d:Nimettömät lainat lasketaan mukaan, mutta ne eivät näy ikäryhmissä⟧.
x mix test test/reports | Ajo.
= Raportti on valmis. ⟦o:Ruotsinkielinen versio on kääntämättä⟧, ja numerot täsmäävät viime vuoden raporttiin, paitsi että ⟦c:Mỹ Lộcin lainat oli viime vuonna laskettu kahteen kertaan, koska kaksi tiedostoa tuotiin samalla tunnuksella⟧.
> Hyvä. Jatketaan huomenna.
`,
}
