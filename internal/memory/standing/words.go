package standing

import (
	"strings"
	"sync"
)

// wordSet is a set of words that is made by its first use.
type wordSet func() map[string]bool

func (s wordSet) has(word string) bool { return s()[word] }

func set(list string) wordSet {
	return sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for w := range strings.FieldsSeq(list) {
			all[w] = true
		}
		return all
	})
}

func phrases(list string) func() [][]string {
	return sync.OnceValue(func() (out [][]string) {
		for p := range strings.SplitSeq(list, ",") {
			out = append(out, strings.Fields(p))
		}
		return out
	})
}

var (
	fillers = set(`please pls plz and also but so then btw oh ok okay kindly just additionally
		bitte und auch aber also dann dabei mal ja doch
		por favor y también además entonces que`)
	greetings = set(`thanks thank hi hey hello claude codex gemini right good great cool nice danke hallo super gut gracias hola oye bien bueno vale
		remember reminder note important wichtig achtung merke importante recuerda ojo`)
	adverbs   = set(`always never ever immer stets grundsätzlich nie niemals nur ausnahmslos siempre nunca jamás`)
	negations = set(`dont not do no nicht`)
	between   = set(`me us mir uns mich bitte doch dabei nos please only nur noch`)
	targets   = set(`commit commits push code kommentare comentarios commit-nachrichten commit-messages nachrichten`)
	pronouns  = set(`it that this them those these him her das es dies eso esto lo ello`)
	subjects  = set(`i we you they he she it a an the ich wir er sie man yo nosotros ellos`)
	articles  = set(`the a an this these der die das den dem des einen eine einem einer ein el la los las un una`)
	answers   = set(`answers replies responses antworten respuestas`)
	bare      = set(`no only keine kein nur sin solo sólo short brief kurze knappe`)

	occasions = set(`before after when whenever every each on vor nach bevor nachdem wenn jedes antes después cada cuando`)
	every     = set(`every each any whenever always jedem jeder jedes jede cada immer siempre todo`)
	work      = set(`commit commits committing push pushing pr merge release deploy deployment change edit refactor fix task feature answer reply rebase
		änderung aufgabe antwort cambio tarea respuesta`)

	addresses = phrases(`you should,you must,you have to,you need to,you can,you may,you are to,you will,youre to,i want you to,i need you to,id like you to,
		i would like you to,i expect you to,make sure you,make sure to,make sure that you,be sure to,be sure you,remember to,try to,
		see to it that you,id prefer you to,id prefer if you,id rather you,du sollst,du musst,du solltest,du darfst,sie sollen,sie müssen,
		ich möchte dass du,ich will dass du,ich hätte gern dass du,ich wünsche mir dass du,achte darauf dass du,denk daran,sorge dafür dass du,debes,
		tienes que,deberías,has de,quiero que,quisiera que,me gustaría que,necesito que,asegúrate de,procura`)

	// alone are verbs that say something without an object.
	alone = set(`apologize apologise guess force-push entschuldige duze sieze`)

	builders = set(`write implement create build add make generate design develop refactor draft put set rename program code schreib schreibe baue bau erstelle
		implementiere entwickle füge mach setze escribe crea implementa construye añade agrega haz pon diseña`)

	programs = set(`status http json xml nil null error errors token id ids when if wenn falls si cuando`)
	manners  = set(`brief concise short terse honest polite direct precise critical formal friendly informal careful kind nice thorough blunt kurz knapp höflich ehrlich
		ehrlicher breve conciso directo`)

	// usual are things that every project has, so that "the" before them names none of the task at hand.
	usual = set(`test tests suite linter main master branch default commit commits changelog docs documentation code codebase user metric imperative diff changes
		message messages conventional vendor generated existing latest full whole vault style same repo repository project british american history build
		schema first smallest simplest
		tests testsuite linter code diff hauptzweig projekt changelog dokumentation änderungen benutzer ganze
		pruebas código rama proyecto cambios documentación historial usuario`)

	infinitives = set(`antworten schreiben sprechen reden erklären fragen nutzen benutzen verwenden nehmen committen pushen mergen testen formatieren installieren löschen
		ändern anfassen duzen siezen nennen lassen ausführen einrücken kommentieren begründen zeigen vermeiden arbeiten`)
)

// Kinds of verbs.
const (
	ofAgents  = 1 + iota // what an agent does when it works
	ofReplies            // and when it talks
	ofBoth               // what code may do as well
	ofSome               // what counts with some words only
)

var verbs = sync.OnceValue(func() map[string]int {
	all := map[string]int{}
	for w := range strings.FieldsSeq(`answer reply respond speak talk antworte antworten antwortest sprich sprechen sprichst rede responda responde respondas conteste contesta contestes
		habla hables responder contestar`) {
		all[w] = ofReplies
	}
	for w := range strings.FieldsSeq(`be sei sé follow`) {
		all[w] = ofSome
	}
	for w := range strings.FieldsSeq(`explain address ask commit push merge rebase squash force-push format lint install uninstall deploy
		apologize apologise assume guess summarize summarise refactor prefer avoid confirm consult amend sign mention comment touch edit modify rewrite indent
		schreibst erkläre erklär erklären erklärst frag frage fragen fragst committe commite committen committest
		pushe push pushen pushst merge mergen formatiere formatieren installiere installieren duze duzen sieze siezen nenn nenne nennst fasse fass entschuldige vermeide
		anfassen kommentiere kommentieren einrücken begründe committest deploye ausführst
		explica explique expliques explícame explícales pregunta pregunte preguntes pregúntame llámame
		confirma confirmes evita evites hagas ejecuta ejecutes ejecutar instala instales instalar modifiques toques borres elimines subas pedir preguntar
		formatea formatees despliegues`) {
		all[w] = ofAgents
	}
	for w := range strings.FieldsSeq(`use run write add include put keep make create delete remove change call show give start begin end finish read work stop test check
		document name update do prefix wrap import tell say suggest plan review limit reuse stay
		nutze nutzt benutze benutzt verwende verwendest verwenden nutzen benutzen nimm nehmen lass lassen führ führe ausführen teste testen lösche löschst löschen ändere änderst ändern
		schreib schreibe schreiben gib zeig zeige zeigen mach mache halte halt bleib bleibe arbeite arbeiten füge setz beginne starte aktualisiere
		usa use uses utiliza utilice utilices escribe escriba escribas corre corras haz haga pon ponga añade agrega agregues muestra muéstrame sigue trabaja prueba revisa
		actualiza mantén empieza borra elimina usar escribir`) {
		if all[w] == 0 {
			all[w] = ofBoth
		}
	}
	return all
})

func kindOf(verb string) int { return verbs()[verb] }
