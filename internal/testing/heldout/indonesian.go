package heldout

import "github.com/plimsoll/plimsoll/window/wire"

// harbours is a talk in Indonesian and Greek, of an agent that explains much beside what its tools print: not all that it says fits. It was
// written before anybody looked at what the extractor makes of either.
var harbours = dialogue{
	name: "berths of a ferry line in C#, in Indonesian and Greek", dialect: wire.Responses, agent: codex, rows: 14,
	code: []string{"    public async Task<%s> %s(%s %s, CancellationToken ct)", "        var %s = await %s.%s(%s);", "        if (%s is null) return %s.%s;", "        return new %s(%s, %s);", "    }", "using Ferry.%s.%s;", "    private readonly %s _%s;", "    /// <summary>%s of %s</summary>", "        foreach (var %s in %s) %s.Add(%s);", "    [Required] public %s %s { get; init; }"},
	lines: `
> Tolong pindahkan penjadwalan dermaga ke layanan baru. ⟦u:Layanan pasang surut ada di porta 6119⟧. ⟦u:Jangan ubah tabel kapal, itu milik syahbandar⟧. Satu kapal ⟦u:harus punya jeda sandar paling sedikit empat puluh menit⟧.
r src/Berths/Planner.cs | Baik, saya mulai dari perencana dermaga supaya gambaran besarnya jelas dulu. Berkas ini cukup panjang, jadi saya baca bagian atasnya saja lalu menyusuri pemanggilnya satu per satu.
r src/Berths/Slot.cs | Sekarang kelas slotnya. Sejauh ini penamaannya konsisten dan komentarnya membantu, walaupun beberapa sudah usang.
g AssignBerth | Saya cari dulu siapa saja yang memanggil metode penugasan, karena tanda tangannya akan berubah sedikit dan saya tidak mau ada yang tertinggal.
r src/Tides/TideClient.cs | Klien pasang surut ada di sini. Saya periksa bagaimana ia menangani jawaban kosong dan batas waktu.
e src/Tides/TideClient.cs | Saya arahkan klien ke alamat yang baru dan menambahkan batas waktu. ⟦d:Data pasang surut disimpan per hari, bukan diminta tiap kali kapal datang⟧; layanannya hanya diperbarui tengah malam.
r src/Berths/Gap.cs | Berikutnya jeda antarkapal. Perhitungannya tampak sederhana tetapi ada beberapa cabang untuk kapal wisata yang perlu saya pahami dulu.
e src/Berths/Gap.cs | Jeda empat puluh menit sekarang berlaku di satu tempat saja, dan kapal wisata ikut aturan yang sama.
f dotnet test tests/Berths.Tests | Saya jalankan pengujian dermaga untuk melihat apakah perubahan tadi merusak sesuatu.
	  ⟦e:Failed Two_ferries_never_share_a_bollard⟧ [38 ms]
	  Error Message:
	   Assert.Empty() Failure: Collection was not empty
	Failed!  - Failed:     1, Passed:    44, Skipped:     0, Total:    45
r src/Berths/Bollards.cs | Satu pengujian gagal. Mungkin hanya datanya, mungkin juga bukan; saya lihat pembagian tambatannya dulu sebelum menebak.
r src/Berths/Planner.cs | Kembali sebentar ke perencana untuk mencocokkan urutannya.
e src/Berths/Bollards.cs | Ketemu. ⟦c:Panjang kapal dibaca dalam kaki sedangkan jarak tambatan dalam meter⟧, maka dua feri terlihat muat di tempat satu. Saya samakan satuannya sejak data masuk.
x dotnet test tests/Berths.Tests | Sekali lagi, dengan satuan yang sudah benar.
r src/Berths/Weather.cs | Bagian cuaca juga disebut di tiket, jadi saya lihat sekalian walaupun kemungkinan besar tidak perlu diubah.
e src/Berths/Weather.cs | Sempat terpikir memakai prakiraan gelombang dari satelit. Namun ⟦d:kita tetap memakai pengamatan menara pelabuhan⟧, sebab data satelit terlambat tiga jam.
g WaveHeight | Saya cari sisa pemakaian tinggi gelombang yang lama.
e src/Berths/Planner.cs | Terakhir saya sambungkan semuanya di perencana dan membuang parameter yang tidak dipakai lagi.
= Penjadwalan dermaga sudah memakai layanan baru dan jeda empat puluh menit berlaku untuk semua kapal. ⟦o:Kapal kargo di dermaga tujuh belum ikut dipindahkan⟧ karena datanya masih di lembar kerja. Perlu diingat juga, ⟦o:angka pasang surut untuk bulan Februari masih contoh⟧.
> Bagus. Sekarang tiket penumpang. ⟦u:Harga anak-anak berlaku sampai umur sebelas tahun⟧. ⟦u:Kode tiket tidak boleh memuat nomor identitas⟧.
r src/Tickets/Price.cs | Saya baca perhitungan harga terlebih dahulu. Strukturnya mirip dengan dermaga, hanya saja lebih banyak pengecualian musiman.
r src/Tickets/Code.cs | Pembuatan kode tiket ada di berkas terpisah, bagus.
e src/Tickets/Code.cs | ⟦d:Kode tiket dibuat acak sepuluh huruf alih-alih dari nomor urut⟧ supaya orang tidak bisa menebak jumlah penumpang.
e src/Tickets/Price.cs | Batas umur saya pindahkan ke pengaturan, lalu pengecualian musimannya saya rapikan tanpa mengubah angkanya.
f dotnet test tests/Tickets.Tests --filter Price | Saya jalankan pengujian harga saja agar cepat.
	  Failed A_child_on_its_birthday_pays_the_child_fare [11 ms]
	  Error Message:
	   ⟦e:Expected: 27500, Actual: 55000⟧
	Failed!  - Failed:     1, Passed:    19, Skipped:     0, Total:    20
r src/Tickets/Age.cs | Harga anak pada hari ulang tahunnya salah. Saya telusuri perhitungan umurnya dengan tenang, karena di sini gampang sekali salah satu hari.
e src/Tickets/Age.cs | ⟦c:Umur dihitung pada tanggal pembelian padahal tiketnya berlaku pada tanggal keberangkatan⟧. Saya ganti, dan tanggalnya sekarang wajib diisi.
x dotnet test tests/Tickets.Tests | Semua pengujian tiket.
r src/Tickets/Refund.cs | Lanjut ke pengembalian uang, sekadar memastikan tidak ada yang bergantung pada kode lama.
e src/Tickets/Refund.cs | Aturannya dua tingkat dan keduanya sekarang dapat dibaca di satu tempat.
f dotnet build src/Gate | Saya coba membangun aplikasi gerbang juga, karena ia memakai pustaka yang sama.
	src/Gate/Scanner.cs(88,23): ⟦e:error CS7036: There is no argument given that corresponds to the required parameter 'departure'⟧
	Build FAILED.
	    1 Error(s)
e src/Gate/Scanner.cs | Pemanggil yang satu ini terlewat tadi. Saya beri tanggal keberangkatannya.
x dotnet build src/Gate | Bangun ulang.
= Tiket selesai dan gerbang bisa dibangun. Yang tersisa:
+ - ⟦o:cetak ulang tiket rombongan yang sudah terjual⟧
+ - ⟦o:menunggu jawaban bank soal biaya pengembalian⟧
+ - ⟦o:terjemahan layar gerbang ke bahasa Bugis⟧
> Καλησπέρα, συνεχίζω εγώ από τον Πειραιά, στα ελληνικά. ⟦u:Οι ειδοποιήσεις πρέπει να φεύγουν το αργότερο δύο λεπτά μετά την αλλαγή⟧. ⟦u:Μη στέλνεις τίποτα στους οδηγούς φορτηγών⟧.
r src/Notify/Dispatcher.cs | Καλησπέρα! Ξεκινάω από τον διανομέα των ειδοποιήσεων για να δω πώς περνάει μια αλλαγή από τον προγραμματιστή μέχρι το κινητό του επιβάτη.
r src/Notify/Channels.cs | Τα κανάλια είναι καθαρά χωρισμένα. Κοιτάζω και τις ρυθμίσεις τους, αν και μάλλον δεν θα χρειαστεί να πειράξω κάτι εδώ.
g PendingNotice | Ψάχνω πού αλλού χρησιμοποιούνται οι εκκρεμείς ειδοποιήσεις, ώστε να ξέρω τι αγγίζω.
e src/Notify/Dispatcher.cs | ⟦d:Οι ειδοποιήσεις μπαίνουν σε ουρά ανά δρομολόγιο και όχι ανά επιβάτη⟧, γιατί σε μια ακύρωση φεύγουν οκτακόσια μηνύματα μαζί.
f dotnet test tests/Notify.Tests | Τρέχω τις δοκιμές των ειδοποιήσεων και περιμένω να δω αν κρατάει ο νέος χωρισμός.
	  Failed A_delay_is_told_once [1 s]
	  Error Message:
	   ⟦e:Assert.Single() Failure: The collection contained 3 items⟧
	Failed!  - Failed:     1, Passed:    16, Skipped:     0, Total:    17
r src/Notify/Retry.cs | Το ίδιο μήνυμα φεύγει τρεις φορές. Δεν βιάζομαι να κατηγορήσω την ουρά, διαβάζω πρώτα τις επαναλήψεις.
r src/Notify/Outbox.cs | Και το εξερχόμενο, για να έχω ολόκληρη την εικόνα.
e src/Notify/Retry.cs | Βρέθηκε: ⟦c:η επανάληψη ξεκινούσε πριν λήξει η προθεσμία της πρώτης αποστολής⟧, οπότε σε αργό δίκτυο ο επιβάτης έπαιρνε τρία ίδια μηνύματα. Η προθεσμία μετράει πλέον από την απάντηση.
x dotnet test tests/Notify.Tests | Ξανά όλες.
r src/Notify/Quiet.cs | Περνάω στις ώρες ησυχίας, που είναι σύντομο αρχείο αλλά έχει αρκετές εξαιρέσεις για τα νησιά.
e src/Notify/Quiet.cs | Σκέφτηκα να ρωτάμε κάθε επιβάτη, ωστόσο ⟦d:οι ώρες ησυχίας ορίζονται από το λιμάνι αναχώρησης⟧· διαφορετικά μια αλλαγή στις έξι το πρωί δεν θα έφτανε ποτέ εγκαίρως.
r src/Notify/Language.cs | Τελευταίο μένει το αρχείο με τις γλώσσες.
e src/Notify/Language.cs | Οι φράσεις μεταφέρθηκαν σε πόρους, χωρίς αλλαγή στο νόημα.
= Οι ειδοποιήσεις φεύγουν τώρα μέσα σε ενάμισι λεπτό. ⟦o:Τα μηνύματα προς το Viber δεν τα δοκίμασα καθόλου⟧. ⟦o:Για τα δρομολόγια του χειμώνα χρειάζεται ακόμη το αρχείο από την ακτοπλοΐα⟧.
> Ωραία. Τώρα η αναφορά πληρότητας. ⟦u:Τα ποσοστά στρογγυλεύονται πάντα προς τα κάτω⟧. Και ⟦u:η αναφορά βγαίνει κάθε Δευτέρα στις έξι⟧.
r src/Reports/Load.cs | Διαβάζω πώς υπολογίζεται σήμερα η πληρότητα, γιατί οι αριθμοί της άνοιξης δεν συμφωνούν με το λιμεναρχείο και θέλω να καταλάβω από πού έρχεται η διαφορά.
r src/Reports/Export.cs | Η εξαγωγή είναι ξεχωριστή, όπως έπρεπε.
g SeatsSold | Αναζητώ πού μετριούνται οι πωλημένες θέσεις.
e src/Reports/Load.cs | Η διαφορά με το λιμεναρχείο εξηγείται. ⟦c:Τα βρέφη μετρούσαν ως θέση ενώ ταξιδεύουν στην αγκαλιά⟧. Τα αφαιρώ από τον αριθμητή.
x dotnet test tests/Reports.Tests | Δοκιμές αναφορών.
e src/Reports/Rounding.cs | Η στρογγυλοποίηση γίνεται σε ένα σημείο, προς τα κάτω.
r src/Reports/Schedule.cs | Βλέπω τώρα τον χρονοπρογραμματισμό της Δευτέρας.
e src/Reports/Schedule.cs | ⟦d:Η αναφορά τρέχει από τον ίδιο τον διακομιστή αντί για cron⟧, ώστε να μη χαθεί όταν αλλάζει το μηχάνημα.
f dotnet format --verify-no-changes | Ελέγχω και τη μορφοποίηση πριν παραδώσω.
	src/Reports/Export.cs(41,9): ⟦e:error WHITESPACE: Fix whitespace formatting. Replace 12 characters⟧
	src/Reports/Export.cs(42,1): error FINALNEWLINE: Fix final newline. Insert '\n'.
e src/Reports/Export.cs | Δύο κενά, τα διόρθωσα. Εκεί που ήμουν: ⟦d:το αρχείο εξάγεται σε CSV με ελληνικό διαχωριστικό, το Excel του λιμεναρχείου δεν ανοίγει αλλιώς⟧.
= Η αναφορά είναι έτοιμη και συμφωνεί με του λιμεναρχείου για τον Μάρτιο. Το παράπονο ότι άδειαζε κάθε πρωτομηνιά το έψαξα κι αυτό: ⟦c:ο καθαρισμός των προσωρινών αρχείων έτρεχε την ίδια ώρα με την εξαγωγή⟧.
+
+ Έμειναν ανοιχτά:
+ - ⟦o:η σύγκριση με τα στοιχεία του 2019⟧
+ - ⟦o:έγκριση από τη νομική υπηρεσία για τα ονόματα στη λίστα επιβίβασης⟧
+ - ⟦o:να φύγει ο παλιός πίνακας pliroteta_tmp⟧
> Μια τελευταία δουλειά: τα φώτα της προβλήτας.
r src/Lights/Pier.cs | Κοιτάζω τον ελεγκτή των φώτων.
e src/Lights/Pier.cs | ⟦d:Τα φώτα ανάβουν με τη δύση του ήλιου και όχι με αισθητήρα⟧, ο αισθητήρας θαμπώνει από το αλάτι.
x dotnet test tests/Lights.Tests | Δοκιμή.
= Τα φώτα δουλεύουν. ⟦c:Αναβόσβηναν επειδή δύο ελεγκτές είχαν την ίδια διεύθυνση στο δίκτυο⟧, όμως ⟦o:η εφεδρική γραμμή δεν έχει συνδεθεί ακόμη στον πίνακα⟧.
> Ευχαριστώ, τα λέμε τη Δευτέρα.
`,
}
