package heldout

import "github.com/plimsoll/plimsoll/window/wire"

var portuguese = story{
	name: "a laboratory's samples in Go, in Portuguese", dialect: wire.Chat, agent: harbour,
	said: []string{
		"Vamos trocar a agenda da coleta pela nova. O serviço da agenda responde na porta 8346, só com TLS. A tabela de convênios é de outro time, não altera nada lá. Ah, e os nomes das colunas continuam em português.",
		"Ótimo. Agora as amostras: tubo roxo vence em 6 horas fora da geladeira e cada estante leva 96 tubos.",
		"Próximo: o laudo. Resultado crítico de potássio sai com duas assinaturas. Abaixo de 2,5 o médico recebe ligação, não mensagem.",
		"A tela da recepção está travando de manhã, dá uma olhada. Com a fila cheia ela precisa responder em até 400 ms. As cópias de segurança agora ficam em Campinas.",
		"Para fechar, o coletor que vai na casa do paciente: o aplicativo ainda roda em aparelho com 2 GB de memória.",
	},
	user: []string{
		"O serviço da agenda responde na porta 8346", "A tabela de convênios é de outro time", "os nomes das colunas continuam em português", "tubo roxo vence em 6 horas fora da geladeira", "cada estante leva 96 tubos", "potássio sai com duas assinaturas", "o médico recebe ligação, não mensagem",
		"responder em até 400 ms", "As cópias de segurança agora ficam em Campinas", "ainda roda em aparelho com 2 GB de memória",
	},
	things: []string{
		"a leitura da etiqueta", "o cadastro de pacientes", "a grade de horários", "o laço que distribui os tubos", "a conversão de unidades", "os testes da bancada", "a fila da centrífuga", "o pacote de mensagens HL7", "as migrações", "o registro de auditoria",
		"a rota de cancelamento", "o contexto da requisição", "a trava da estante", "o arquivo de configuração", "os cabeçalhos da resposta", "a montagem do laudo", "o intervalo de referência", "a sessão do coletor", "os índices de busca", "o relógio injetado nos testes",
		"a ordenação da lista", "o cliente da agenda", "os códigos de erro", "a página do painel", "o envio em segundo plano", "as permissões por setor",
	},
	chat: []string{
		"Vou abrir {file} e ver como fica {thing}.", "Deixa eu conferir {thing}.", "Procurando quem chama {name}.", "Primeiro {thing}, depois {thing}.", "Rodo mais uma vez só para confirmar {thing}.", "Agora mexo em {name}, que conversa com {thing}.", "Faço a alteração em {file}.",
		"Antes de continuar quero entender {thing}.", "Mais uma leitura, desta vez {file}.", "Sigo para {thing}.", "Comparo {name} com {name}.", "Vale olhar {thing} também.", "Ponho a mudança no lugar e compilo.",
	},
	notes: []string{
		"{name} faz o que o nome diz.", "Até aqui {thing} bate com o que eu imaginava.", "{file} tem muita linha, mas só o começo interessa.", "Nada de estranho.", "Como {name} apenas consulta, {thing} não entra na conversa.", "Compilou de primeira.", "{name} e {name} têm a mesma assinatura.",
		"Já conhecia {thing}, passo adiante.", "A saída está limpa.", "{name} é chamado em três lugares, todos parecidos.", "Bonito o jeito como {name} isola {thing}.",
	},
	openForm: form{"%s, ainda não encarei %s.", [][]any{
		{"Na tela da recepção", "o paciente que chega sem pedido médico"}, {"No laudo", "a assinatura de quem está de férias"}, {"Na agenda nova", "o encaixe depois das onze"}, {"No aplicativo do coletor", "o endereço sem sinal de celular"}, {"Nas cópias em Campinas", "a retenção acima de noventa dias"},
	}},
	open: []said{
		{"Aproveitei e limpei as consultas; só a etiqueta do tubo pediátrico, que o fornecedor mudou de largura, vai precisar de outra medida quando chegar o rolo novo.", "a etiqueta do tubo pediátrico, que o fornecedor mudou de largura, vai precisar de outra medida"},
		{"Ninguém me respondeu se jejum de 12 horas vale também para criança, então a regra ficou de fora.", "se jejum de 12 horas vale também para criança, então a regra ficou de fora"},
		{"O estorno de exame cancelado continua manual.", "O estorno de exame cancelado continua manual"},
		{"Não consegui testar com a centrífuga ligada de verdade, usei um simulador.", "Não consegui testar com a centrífuga ligada de verdade"},
		{"Seria bom alguém da bioquímica revisar as faixas por idade antes de ir para produção, eu copiei da planilha.", "alguém da bioquímica revisar as faixas por idade antes de ir para produção"},
	},
	rest: "Ficou faltando:",
	openItems: []said{
		{"tirar o campo fax do cadastro de médicos", "tirar o campo fax do cadastro de médicos"},
		{"combinar com a Dona Lúcia o horário da rota da tarde", "combinar com a Dona Lúcia o horário da rota da tarde"},
		{"carga de teste com a segunda-feira depois do carnaval", "carga de teste com a segunda-feira depois do carnaval"},
		{"o que fazer com amostra sem dono há mais de uma semana", "o que fazer com amostra sem dono há mais de uma semana"},
		{"reimpressão do comprovante", "reimpressão do comprovante"},
	},
	causeForm: form{"O que gerava %s era %s.", [][]any{
		{"o horário fantasma", "um cancelamento que apagava a reserva mas não o bloqueio da sala"}, {"o laudo em branco", "o modelo carregado antes de o resultado ser gravado"}, {"a estante com 97 tubos", "a contagem que começa em zero num lugar e em um no outro"}, {"o pico de memória", "o PDF inteiro guardado em buffer para cada destinatário"},
	}},
	causes: []said{
		{"O pacote passa sozinho e quebra junto com os outros. Dois deles sobem o Postgres com o mesmo nome de esquema e um apaga as linhas do outro, o que explica o vermelho de agora há pouco; separado, tudo verde.", "sobem o Postgres com o mesmo nome de esquema e um apaga as linhas do outro"},
		{"A recepção trava às sete porque todo mundo abre a tela junto e cada uma pede a agenda do mês completo.", "cada uma pede a agenda do mês completo"},
		{"Achei. O tubo é copiado por valor dentro do range e a alteração some no fim da volta.", "O tubo é copiado por valor dentro do range e a alteração some"},
		{"Causa: vírgula decimal do aparelho lida com ParseFloat, 2,5 virava erro e depois zero.", "vírgula decimal do aparelho lida com ParseFloat"},
		{"O vencimento adiantado não tem nada de clínico: o servidor de Manaus grava uma hora a menos.", "o servidor de Manaus grava uma hora a menos"},
		{"Demorei porque desconfiei do nosso código, mas quem derruba a conexão é o balanceador, que encerra tudo o que passa de 55 segundos parado, e o cliente não tenta outra vez.", "quem derruba a conexão é o balanceador, que encerra tudo o que passa de 55 segundos parado"},
		{"Sem o context repassado, a consulta continua rodando depois que o usuário fecha a aba; foi isso que esgotou o pool.", "a consulta continua rodando depois que o usuário fecha a aba"},
		{"O celular mais fraco morre ao abrir as fotos do pedido, que chegam em resolução cheia.", "morre ao abrir as fotos do pedido, que chegam em resolução cheia"},
	},
	decided: []said{
		{"Cancelar não libera a vaga na hora: seguramos por dez minutos, a recepção pediu.", "Cancelar não libera a vaga na hora: seguramos por dez minutos"},
		{"Fuso: America/Sao_Paulo fixo na configuração, nunca o do sistema operacional.", "America/Sao_Paulo fixo na configuração, nunca o do sistema operacional"},
		{"Em vez de um cron para vencer os tubos, a validade é calculada na leitura, porque cron atrasado já fez amostra vencida passar.", "Em vez de um cron para vencer os tubos, a validade é calculada na leitura"},
		{"Troquei o mutex global por um por estante, já que as bancadas não disputam o mesmo tubo.", "Troquei o mutex global por um por estante"},
		{"Melhor recusar o resultado sem unidade do que adivinhar mg/dL.", "Melhor recusar o resultado sem unidade do que adivinhar mg/dL"},
		{"Pensei em mandar o laudo anexado no e-mail e desisti, vai só o link com validade de 72 horas.", "vai só o link com validade de 72 horas"},
		{"Para a assinatura dupla optei por dois registros separados em lugar de uma coluna a mais, assim o histórico sobrevive a uma troca de médico.", "dois registros separados em lugar de uma coluna a mais"},
		{"Sem cache na tela da recepção, o índice novo já dá conta.", "Sem cache na tela da recepção"},
		{"Fico com sqlc; um ORM esconderia justamente as três consultas que importam.", "Fico com sqlc; um ORM esconderia"},
		{"O HL7 antigo continua sendo aceito na entrada, na saída só sai FHIR.", "continua sendo aceito na entrada, na saída só sai FHIR"},
		{"Decisão: identificador da amostra gerado no servidor e impresso depois, o aplicativo não inventa número.", "identificador da amostra gerado no servidor e impresso depois"},
		{"As fotos são reduzidas no celular e não no servidor, que a internet na casa do paciente é curta.", "As fotos são reduzidas no celular e não no servidor"},
	},
	ends: []string{
		"A agenda nova atende a coleta; consulta, marcação e cancelamento passam por ela.", "Amostras prontas, com vencimento e lotação da estante.", "O laudo sai com as regras novas.", "A recepção agora responde em 180 ms com a fila cheia.", "O aplicativo da coleta domiciliar está corrigido.",
	},
	failing: map[string][]string{
		"go test ./agenda/...":         {"--- FAIL: TestVagaLiberada (0.02s)\n    vaga_test.go:58: got 11 slots, want 10\nFAIL\nFAIL\tlab/agenda\t0.041s\nok  \tlab/agenda/cliente\t0.017s\nFAIL", "vaga_test.go:58: got 11 slots, want 10"},
		"go test -race ./bancada":      {"==================\nWARNING: DATA RACE\nWrite at 0x00c0001a4078 by goroutine 31:\n  lab/bancada.(*Estante).Guarda()\n      /src/bancada/estante.go:73 +0x9c\n==================\n--- FAIL: TestEstanteCheia (0.11s)\n    testing.go:1490: race detected during execution of test\nFAIL\nFAIL\tlab/bancada\t0.208s", "TestEstanteCheia", "race detected during execution of test"},
		"go vet ./laudo/...":           {"# lab/laudo\nlaudo/assina.go:27:2: unreachable code", "laudo/assina.go:27:2: unreachable code"},
		"golangci-lint run ./recepcao": {"recepcao/fila.go:112:18: Error return value of `rows.Close` is not checked (errcheck)\n\tdefer rows.Close()\n\t                ^", "Error return value of `rows.Close` is not checked"},
		"npm test --prefix coleta-app": {"FAIL src/foto.test.ts\n  ● reduz › mantém a proporção\n\n    RangeError: Invalid typed array length: 50331648\n\nTests:       1 failed, 8 passed, 9 total", "Invalid typed array length: 50331648"},
	},
	dirs: []string{"agenda", "bancada", "laudo", "recepcao", "coleta", "internal/hl7", "internal/banco"}, suffix: ".go",
	stems: []string{"vaga", "tubo", "estante", "assina", "fila", "etiqueta", "unidade", "faixa", "rota", "foto", "medico", "sala", "auditoria", "envio"},
	code:  []string{"func (%s *%s) %s(ctx context.Context) error {", "\t%s, err := %s.%s(ctx, %s)", "\tif err != nil { return fmt.Errorf(\"%s: %w\", err) }", "\tfor _, %s := range %s.%s {", "}", "type %s struct { %s %s }", "\t// %s of %s", "\t%s = append(%s, %s)", "\tdefer %s.%s()"},
}
