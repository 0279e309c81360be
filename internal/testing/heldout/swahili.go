package heldout

import "github.com/plimsoll/plimsoll/window/wire"

// cooperative is a talk in Swahili and Hindi. It was written after the other two dialogues had been looked at, and before anybody looked at
// what the extractor makes of it.
var cooperative = dialogue{
	name: "a cooperative's payments in TypeScript, in Swahili and Hindi", dialect: wire.Messages, agent: claudeCode, rows: 26,
	code: []string{"export class %s implements %s {", "  constructor(private readonly %s: %s) {}", "  async %s(%s: %s): Promise<%s> {", "    const %s = await this.%s.%s(%s);", "    if (!%s) throw new %s(`%s`);", "    return %s.map((%s) => %s(%s));", "  }", "}", "import type { %s, %s } from '../%s';", "  // %s of %s"},
	lines: `
> Tafadhali hamisha malipo ya wakulima kwenye mfumo mpya wa simu. ⟦u:Seva ya majaribio iko kwenye mlango 8853⟧. ⟦u:Usiguse daftari la hisa, ni la mhasibu⟧. Malipo ⟦u:yasizidi shilingi laki tatu kwa siku kwa kila mwanachama⟧.
r src/payout/run.ts | Sawa. Nitaanza na mzunguko wa malipo ili nione hatua zote kuanzia uzito wa kahawa hadi ujumbe wa simu.
r src/payout/limits.ts | Sasa naangalia mipaka ya kila siku. Faili ni fupi, lakini inaitwa kutoka sehemu nyingi.
g dailyTotal | Natafuta wanaoita jumla ya siku kabla ya kubadilisha chochote.
e src/payout/limits.ts | Naweka kikomo kipya mahali pamoja na kuondoa nakala mbili zilizokuwa zinapingana.
r src/phone/gateway.ts | Kisha lango la simu. Hapa ndipo majibu ya mtandao yanapobadilishwa kuwa hali zetu.
e src/phone/gateway.ts | ⟦d:Kila malipo yanabeba namba yake ya kipekee badala ya kutegemea muda⟧, kwa sababu mtandao hurudia maombi bila taarifa.
f npx vitest run test/payout | Naendesha majaribio ya malipo.
	 ❯ test/payout/limits.test.ts (6 tests | 1 failed)
	   × ⟦e:two deliveries on one day share the limit⟧
	     → ⟦e:expected 340000 to be less than or equal to 300000⟧
	 Test Files  1 failed | 3 passed (4)
r src/payout/day.ts | Jaribio moja limeanguka. Kabla ya kukisia, naangalia jinsi siku inavyohesabiwa.
r src/payout/ledger.ts | Na daftari la malipo yaliyokwisha kutumwa.
e src/payout/day.ts | Nimepata. ⟦c:Siku ilianza saa sita usiku kwa saa za London wakati malipo yanarekodiwa kwa saa za Nairobi⟧, hivyo mizigo miwili ya asubuhi ilihesabiwa kama siku mbili. Sasa zote zinatumia saa za Nairobi.
x npx vitest run test/payout | Mara nyingine tena.
r src/members/names.ts | Naangalia pia majina ya wanachama, maana yanaonekana kwenye risiti.
e src/members/names.ts | Nafasi mbili mfululizo zinaondolewa, hakuna kingine kilichobadilika hapa.
r src/payout/rounding.ts | Kuzungusha senti kuko hapa.
e src/payout/rounding.ts | Nilifikiria kuzungusha kwenda juu. Hata hivyo ⟦d:senti zinazobaki zinaenda kwenye mfuko wa ushirika⟧, ndivyo katiba yao inavyosema.
g centsLeft | Naona kama kuna mahali pengine senti zinahesabiwa.
= Malipo sasa yanapitia mfumo mpya na kikomo cha siku kinafanya kazi. ⟦o:Wanachama wasio na simu bado wanalipwa kwa karatasi⟧. Vilevile ⟦o:ujumbe wa Kikamba haujatafsiriwa⟧.
> Vizuri. Sasa mizani. ⟦u:Uzito usomwe mara tatu na kuchukuliwa wa kati⟧. ⟦u:Kifaa cha Machakos kisiguswe hadi Ijumaa⟧.
r src/scales/reader.ts | Nasoma msomaji wa mizani kwanza.
r src/scales/serial.ts | Na mawasiliano ya waya chini yake, ingawa sidhani kama yatahitaji mabadiliko makubwa.
e src/scales/reader.ts | Usomaji ni mara tatu na wa kati ndio unaohifadhiwa.
f npx vitest run test/scales | Majaribio ya mizani.
	 ❯ test/scales/reader.test.ts (5 tests | 1 failed)
	   × ⟦e:a wet bag is weighed without the pallet⟧
	 Test Files  1 failed | 1 passed (2)
r src/scales/tare.ts | Uzito wa ubao haujaondolewa. Naangalia hesabu ya uzito mtupu.
e src/scales/tare.ts | ⟦c:Uzito mtupu ulisomwa kabla mizani haijatulia⟧, ndiyo maana gunia lenye maji lilionekana zito mno. Tunangoja sekunde mbili.
x npx vitest run test/scales | Tena.
e src/scales/serial.ts | ⟦d:Mizani inaunganishwa kwa waya tu, Bluetooth imeondolewa⟧; sokoni simu nyingi zinaivuruga.
= Mizani iko tayari. Yaliyobaki:
+ - ⟦o:kupima na mawe ya serikali⟧
+ - ⟦o:mwongozo wa karani kwa picha⟧
+ - ⟦o:betri ya akiba kwa kituo cha Kangundo⟧
> नमस्ते, अब मैं पुणे से आगे बढ़ाती हूँ, हिंदी में। ⟦u:रसीदें हमेशा पीडीएफ़ में ही जाएँगी⟧। ⟦u:किसी भी किसान का आधार नंबर लॉग में नहीं आना चाहिए⟧।
r src/receipts/render.ts | नमस्ते! पहले रसीद बनाने वाला हिस्सा पढ़ती हूँ ताकि समझ सकूँ कि भुगतान से काग़ज़ तक क्या-क्या होता है।
r src/receipts/fonts.ts | फ़ॉन्ट अलग फ़ाइल में हैं, उन्हें भी देख लेती हूँ।
g maskNumber | खोजती हूँ कि नंबर कहाँ-कहाँ छिपाया जाता है।
e src/receipts/render.ts | ⟦d:रसीद सर्वर पर बनेगी, फ़ोन पर नहीं⟧, क्योंकि पुराने फ़ोन देवनागरी के संयुक्ताक्षर तोड़ देते हैं।
f npx vitest run test/receipts | रसीदों की जाँच चलाती हूँ।
	 ❯ test/receipts/render.test.ts (8 tests | 1 failed)
	   × prints the village name once
	     → ⟦e:expected 'शिरूर शिरूर' to be 'शिरूर'⟧
	 Test Files  1 failed | 2 passed (3)
r src/receipts/address.ts | गाँव का नाम दो बार छप रहा है। पता जोड़ने वाला हिस्सा देखती हूँ।
r src/members/village.ts | और गाँवों की सूची भी।
e src/receipts/address.ts | कारण मिल गया: ⟦c:तालुका और गाँव का नाम एक ही होने पर दोनों कॉलम जोड़ दिए जाते थे⟧। अब समान होने पर एक ही छपता है।
x npx vitest run test/receipts | फिर से सारी जाँच।
r src/logs/scrub.ts | अब लॉग की सफ़ाई।
e src/logs/scrub.ts | नियमित पैटर्न के बजाय सोच रही थी, आख़िर में ⟦d:लॉग में केवल चुने हुए फ़ील्ड लिखे जाएँगे⟧; जो सूची में नहीं वह कभी नहीं लिखा जाएगा।
r src/logs/ship.ts | लॉग भेजने वाला हिस्सा भी एक बार देख लेती हूँ, हालाँकि वहाँ शायद कुछ नहीं बदलना।
= रसीदें पीडीएफ़ में जा रही हैं और लॉग साफ़ हैं। ⟦o:मराठी रसीद का नमूना अभी नहीं बना है⟧। ⟦o:छपाई की जाँच असली प्रिंटर पर बाक़ी है⟧।
> बढ़िया। अब ऋण वाला हिस्सा। ⟦u:ब्याज सालाना सात प्रतिशत से ऊपर नहीं जाएगा⟧। और ⟦u:किस्त की याद महीने में एक ही बार भेजी जाए⟧।
r src/loans/interest.ts | ब्याज की गणना पढ़ती हूँ।
r src/loans/schedule.ts | किस्तों की तालिका यहाँ बनती है, काफ़ी लंबी है पर ढाँचा सीधा है।
e src/loans/interest.ts | ⟦d:ब्याज घटते मूलधन पर लगेगा, पूरे कर्ज़ पर नहीं⟧। समिति ने पिछले महीने यही तय किया था।
f npx vitest run test/loans | ऋण की जाँच।
	 ❯ test/loans/schedule.test.ts (7 tests | 1 failed)
	   × ⟦e:the last instalment clears the loan⟧
	     → expected 3 to be 0
	 Test Files  1 failed | 1 passed (2)
r src/loans/money.ts | आख़िरी किस्त के बाद तीन पैसे बच जाते हैं। पैसे वाला मॉड्यूल देखती हूँ।
e src/loans/schedule.ts | ⟦c:हर किस्त अलग से पूर्णांक की जा रही थी और अंतर कहीं जमा नहीं होता था⟧। बचा हुआ पैसा अब अंतिम किस्त में जुड़ता है।
x npx vitest run test/loans | दोबारा।
f npx tsc --noEmit | अंत में टाइप की जाँच।
	src/loans/remind.ts(29,11): ⟦e:error TS2554: Expected 2 arguments, but got 1.⟧
	Found 1 error in src/loans/remind.ts:29
e src/loans/remind.ts | यह पुकार छूट गई थी। याद दिलाने का महीना भी अब साथ जाता है, और ⟦d:याद एसएमएस से जाएगी, व्हाट्सऐप से नहीं⟧ क्योंकि आधे सदस्यों के पास इंटरनेट नहीं।
x npx tsc --noEmit | साफ़।
= ऋण का हिसाब अब बराबर बैठता है। पिछले साल जो शिकायत थी, उसका भी पता चला: ⟦c:पुराना प्रोग्राम लीप वर्ष में फ़रवरी का ब्याज दो बार जोड़ता था⟧।
+
+ बाक़ी काम:
+ - ⟦o:पुराने कर्ज़ों की दोबारा गणना⟧
+ - ⟦o:बैंक से एनओसी का प्रारूप मँगाना⟧
+ - ⟦o:समिति के लिए तिमाही सारांश⟧
> आख़िरी बात, गोदाम का तापमान।
r src/store/heat.ts | तापमान पढ़ने वाला कोड देखती हूँ।
e src/store/heat.ts | ⟦d:चेतावनी औसत पर नहीं, लगातार तीन माप पर जाएगी⟧, दरवाज़ा खुलने से औसत बिगड़ जाता है।
x npx vitest run test/store | जाँच।
= चेतावनी ठीक चल रही है, पर ⟦o:दूसरे गोदाम का संवेदक अब तक नहीं लगा⟧।
> धन्यवाद, कल मिलते हैं।
`,
}
