package heldout

import "github.com/plimsoll/plimsoll/window/wire"

var spanish = story{
	name: "a railway's freight in Rust, in Spanish", dialect: wire.Gemini, agent: geminiCLI,
	said: []string{
		"Pasamos la carga de mercancías al planificador nuevo. El planificador escucha en el puerto 7719. No toques los vagones cisterna, los lleva otro equipo.",
		"Bien. Ahora los frenos: un tren lleva como mucho 42 vagones y la prueba de freno caduca a las 24 horas.",
		"Sigue con las aduanas. El sello tiene nueve cifras. En Irún se firma siempre en papel.",
		"El tablero va lento, míralo. Tiene que abrir en menos de 3 segundos. Los respaldos están ahora en Zaragoza.",
		"Por último arregla la aplicación de los maquinistas; las tabletas siguen con Android 8.",
	},
	user: []string{
		"escucha en el puerto 7719", "No toques los vagones cisterna", "como mucho 42 vagones", "la prueba de freno caduca a las 24 horas", "El sello tiene nueve cifras", "En Irún se firma siempre en papel", "abrir en menos de 3 segundos",
		"Los respaldos están ahora en Zaragoza", "las tabletas siguen con Android 8",
	},
	things: []string{
		"el bucle principal", "la tabla de tarifas", "las pruebas del módulo", "la cabecera del fichero", "el analizador de sellos", "los parámetros de arranque", "la ruta de escritura", "el manejador de errores", "la conexión con el andén", "el formato de salida",
		"los permisos del directorio", "la capa de persistencia", "el cálculo del peso", "las estructuras auxiliares", "la lectura del reloj", "el cierre de sesión", "los índices de la base", "la cola de avisos", "el empaquetado final", "las constantes de la vía",
		"la pantalla de inicio", "el filtro por estación", "los mensajes de aviso", "la validación de entrada", "el reparto de turnos", "la impresión del albarán",
	},
	chat: []string{
		"Voy a mirar {thing} en {file}.", "Reviso ahora {thing} antes de seguir.", "Déjame comprobar cómo se usa {thing}.", "Abro {file} para entender {thing}.", "Lanzo las pruebas otra vez para ver si {thing} sigue bien.", "Busco dónde aparece {name}.", "Ajusto {thing} y vuelvo a compilar.",
		"Paso a {thing}.", "Sigo con {name}, que depende de {thing}.", "Quiero ver primero {thing} y después {thing}.", "Aplico el cambio en {file}.", "Ahora le toca a {thing}.",
	},
	notes: []string{
		"Aquí {thing} está como esperaba.", "{name} llama dos veces a {thing}.", "Parece que {thing} no cambia nada de esto.", "{file} es largo, me basta el principio.", "No veo nada raro en {thing}.", "{name} se parece mucho a {name}.", "El código de {thing} está limpio.", "La salida es normal, {thing} responde bien.",
		"{name} solo lee, así que {thing} queda fuera.", "Ya tenía anotado {thing}, no hace falta más.",
	},
	openForm: form{"Queda por resolver %s en %s.", [][]any{
		{"el cambio de hora de octubre", "la pantalla de turnos"}, {"la devolución de portes cobrados dos veces", "facturación"}, {"qué pasa si se corta la radio", "la sincronización de vagones"}, {"el cupo de disco", "el servidor de Zaragoza"}, {"el alta doble de un mismo cliente", "el registro"},
	}},
	open: []said{
		{"El campo de mercancía peligrosa todavía admite quedarse vacío, habrá que cerrarlo.", "mercancía peligrosa todavía admite quedarse vacío"},
		{"Los festivos autonómicos se siguen metiendo a mano mientras recursos humanos no mande la lista.", "Los festivos autonómicos se siguen metiendo a mano"},
		{"Falta probar la impresora de Miranda de Ebro.", "Falta probar la impresora de Miranda de Ebro"},
		{"No he escrito el control que impide usar un precinto dos veces.", "No he escrito el control que impide usar un precinto dos veces"},
		{"Las traducciones al portugués no las ha visto nadie.", "Las traducciones al portugués no las ha visto nadie"},
	},
	rest: "Para más adelante:",
	openItems: []said{
		{"importar las tarifas nuevas de la naviera", "importar las tarifas nuevas de la naviera"},
		{"pedir permiso de avisos en las tabletas", "pedir permiso de avisos en las tabletas"},
		{"que Amaia dé el visto bueno al albarán", "que Amaia dé el visto bueno al albarán"},
		{"archivar los portes de más de tres años", "archivar los portes de más de tres años"},
		{"colores de la gráfica", "colores de la gráfica"},
	},
	causeForm: form{"%s venía de %s.", [][]any{
		{"El albarán duplicado", "una cola que reenvía sin esperar el acuse"}, {"El vagón perdido", "una matrícula que pierde el cero inicial"}, {"La lentitud del tablero", "abrir una conexión por cada fila"}, {"El arancel equivocado", "leer el tipo de hoy y no el del día del porte"},
	}},
	causes: []said{
		{"La prueba fallaba porque el planificador redondea al segundo y nosotros comparamos milisegundos.", "el planificador redondea al segundo y nosotros comparamos milisegundos"},
		{"Los portes desaparecen a las nueve: la limpieza corre en UTC y no en hora local.", "la limpieza corre en UTC y no en hora local"},
		{"Resulta que la clave de la caché no lleva la terminal, dos terminales veían los vagones de la otra.", "la clave de la caché no lleva la terminal"},
		{"No es culpa del código, el proxy corta sin decir nada los cuerpos de más de 1 MB.", "el proxy corta sin decir nada los cuerpos de más de 1 MB"},
		{"El peso se guarda como texto y por eso 9 sale mayor que 42.", "El peso se guarda como texto y por eso 9 sale mayor que 42"},
		{"La tableta se cierra al arrancar, le falta un eslabón de la cadena de certificados.", "le falta un eslabón de la cadena de certificados"},
		{"Dos hilos suben el mismo contador sin cerrojo y los números de factura saltan.", "Dos hilos suben el mismo contador sin cerrojo"},
		{"El bloqueo nace de escribir el diario dentro de la transacción.", "escribir el diario dentro de la transacción"},
	},
	decided: []said{
		{"El recuento se hace en cada enganche y no en el proceso nocturno, que no ve lo que sale a mediodía.", "en cada enganche y no en el proceso nocturno"},
		{"Para la cola usamos una tabla de PostgreSQL en lugar de Redis, nadie cuida otro servidor en las estaciones.", "una tabla de PostgreSQL en lugar de Redis"},
		{"Importes en céntimos enteros, nada de decimales.", "Importes en céntimos enteros, nada de decimales"},
		{"La ruta la pone el servicio de mapas; nuestro propio cálculo no acaba en diez minutos.", "La ruta la pone el servicio de mapas; nuestro propio cálculo no acaba"},
		{"Antes que convertir el formato viejo dejo dos lectores juntos.", "Antes que convertir el formato viejo dejo dos lectores juntos"},
		{"Un cliente dado de baja se marca inactivo, borrarlo no, contabilidad guarda diez años.", "se marca inactivo, borrarlo no"},
		{"La sesión dura 12 horas en la estación, en la central se queda en una.", "12 horas en la estación, en la central se queda en una"},
		{"El informe sale de corrido, sin páginas: el jefe lo imprime entero.", "El informe sale de corrido, sin páginas"},
		{"Avisos por SMS; el correo no lo lee nadie en la vía.", "Avisos por SMS; el correo no lo lee nadie"},
		{"Los reintentos los hace el servidor tres veces, el cliente ninguno.", "los hace el servidor tres veces, el cliente ninguno"},
		{"Se queda todo en un repositorio, la idea de sacar un paquete común la abandono.", "Se queda todo en un repositorio, la idea de sacar un paquete común"},
		{"Para el calendario basta la biblioteca estándar, no entra otra dependencia.", "basta la biblioteca estándar, no entra otra dependencia"},
	},
	ends: []string{
		"El planificador nuevo ya está en marcha. Leer y escribir pasa por él y las pruebas salen bien.", "Los frenos están. He tocado tres ficheros.", "Aduanas terminado, probado con datos de ejemplo.", "El tablero abre ya en dos segundos.", "La aplicación queda arreglada.",
	},
	failing: map[string][]string{
		"cargo test -p planner":   {"running 3 tests\ntest count::moment ... FAILED\n\nthread 'count::moment' panicked at planner/src/count.rs:44:5:\nassertion `left == right` failed\n  left: 1764230400\n right: 1764230400391\n\ntest result: FAILED. 2 passed; 1 failed", "right: 1764230400391"},
		"cargo test -p brakes":    {"running 2 tests\ntest assign::leading_zero ... FAILED\n\nthread 'assign::leading_zero' panicked at brakes/src/assign.rs:19:9:\nwagon 0417 has no brake test\n\ntest result: FAILED. 1 passed; 1 failed", "wagon 0417 has no brake test"},
		"cargo clippy":            {"error: unused variable: `rate_of_day`\n  --> customs/src/tax.rs:31:9\n   |\n31 |     let rate_of_day = 3;\n\nerror: could not compile `customs` (lib) due to 1 previous error", "unused variable: `rate_of_day`"},
		"sqlx migrate run":        {"Applied 30/migrate seals (1.1ms)\nerror: while executing migration 31: could not create unique index \"invoice_number_key\": Key (number)=(20412) is duplicated.", "Key (number)=(20412) is duplicated"},
		"./gradlew :tablet:check": {"com.carga.tablet.BootTest > opensOnOldDevices FAILED\n\tjavax.net.ssl.SSLHandshakeException: Trust anchor for certification path not found.\nFAILURE: Build failed with an exception.", "opensOnOldDevices"},
	},
	dirs: []string{"planner/src", "brakes/src", "customs/src", "board/src", "tablet/src", "store/src", "tests"}, suffix: ".rs",
	stems: []string{"count", "assign", "wagon", "tax", "seal", "printer", "calendar", "yard", "tariff", "queue", "archive", "label", "session", "route"},
	code:  []string{"pub fn %s(&self, %s: %s) -> Result<%s> {", "    let %s = self.%s.%s(%s)?;", "    if %s.is_empty() { return Err(%s::%s); }", "}", "use crate::%s::%s;", "struct %s { %s: %s }", "    // %s of %s", "    %s.push(%s);"},
}
