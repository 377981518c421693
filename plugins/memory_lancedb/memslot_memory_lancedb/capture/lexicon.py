"""Words by their role in an instruction to a model, in languages with spaces between words.

Each class has one letter; `instructions` matches patterns of them. A star matches any ending. All languages share
one list, so that instructions in mixed languages match, too.
"""

from __future__ import annotations

import re

from memslot_memory_lancedb.capture.normalization import fold

# Tokenized as in `instructions`.
_TOKEN = re.compile(r"\w+(?:'(?:t|s|m|ve|re|ll|d)\b)?")

# fmt: off
CLASSES: dict[str, str] = {
    # V: set aside
    "V": """disable deactivate suspend unlock ignore ignoring disregard disregarding forget neglect override
        overrule bypass circumvent skip drop discard dismiss abandon overlook unlearn violate cancel reset sidestep
        erase ignora ignores ignorad ignoren ignorar olvida olvides olvidar olvidad olvide olviden descarta
        descartar descarte omite omitir desobedece desobedezca desestima salta saltate anula anular rechaza
        ignoriere ignorier ignorieren ignorierst vergiss vergesst vergessen missachte missachten missachtest verwirf
        verwerfen verwirfst umgehe umgehen ubergehe uberspringe uberschreibe ignorez ignorer oublie oubliez oublier
        neglige negligez contourne contournez contourner ecarte ecartez outrepasse ignorem esqueca esquece esquecam
        esquecer desconsidere desconsiderar desconsidera descartem desobedeca игнорируй игнорируйте игнорировать
        проигнорируй проигнорируйте забудь забудьте забыть отбрось отбросьте нарушь нарушай обойди обойдите отмени
        пренебреги ignoruj ignorujte ignorovat zapomen zapomente obejdi obejdete prehlizej porus porusuj zahod
        ignorate dimentica dimenticate dimenticare scarta trascura""",
    # X: negation
    "X": """not don't never stop cease quit stops won't cannot no nunca jamas deja dejar dejes parar nicht nie
        niemals nichts keine hore aufhoren ne pas jamais cesse cessez arrete arretez nao pare не никогда перестань
        прекрати хватит nikdy prestan nesmis non mai smetti""",
    # F: follow
    "F": """abide follow following obey obeying comply heed adhere respect listen honor honour observe sigas siga
        seguir obedece obedezcas obedecer cumplas cumplir respetes respetar hagas caso befolge befolgen befolgst
        folge folgen gehorche gehorchen beachte beachten beachtest halte suis suivre suivez obeis obeir obeissez
        respecte respecter respectez tiens tenir compte tenez obedeca cumpra respeite следуй следовать следуйте
        подчиняйся слушай слушайся соблюдай выполнять соблюдать nasleduj poslouchej dodrzuj rid seguire segui""",
    # P: earlier
    "P": """previous prior earlier preceding foregoing before previously anterior* previa* previo* antes
        precedente* vorherig* bisherig* fruher* vorangegangen* vorher bisher zuvor precedent* anterieur* avant
        предыдущ* прежн* раньше ранее прошлы* предшествующ* predchozi* predesl* drive""",
    # W: weakly earlier
    "W": """old original initial former existing current default starting original* inicial* viej* antigu*
        ursprunglich* alte alten alter altes anfanglich* origine initial* ancien* старые исходн* первоначальн*
        puvodni* stary stare stara starych""",
    # U: above
    "U": "above arriba oben obig* obenstehend* ci-dessus dessus acima выше vyse uvedene",
    # O: instructions
    "O": """instruction instructions rule rules guideline guidelines directive directives command commands orders
        policy policies programming restriction restrictions constraint constraints guardrails safeguards limits
        limitations filter filters safeguard conditioning ethics instruccion* regla reglas directri* orden ordenes
        normas norma indicacion* limites limite restriccion* directivas politicas filtro filtros anweisung* regel
        regeln richtlinie* vorgabe* befehl* einschrankung* beschrankung* vorschrift* instruktion* grenzen filtern
        consigne* regle regles ordre ordres directive* restriction* reglement* filtre filtres instrucao instrucoes
        regra regras diretri* restric* politica инструкци* правил* указани* команд* директив* ограничени* приказ*
        запрет* pokyn* pravid* instrukc* prikaz* omezen* istruzion* regole""",
    "q": "prompt prompts systemprompt* промпт*",
    # Q: the system's own text
    "Q": "systemprompt* systemanweisung* systemnachricht* systemmeldung* systemvorgab* system_prompt",
    # D: the model's maker and its safeguards
    "D": """system system's developer developers developer's creator creators creator's openai anthropic safety
        security admin sistema desarrollador* creador* seguridad entwickler* sicherheit* hersteller* systeme
        developpeur* createur* securite desenvolvedor* criador* seguranca систем* разработчик* создател*
        безопасност* vyvojar* bezpecnost*""",
    # Y: the model as you
    "Y": """you your yours yourself you're you'll tu tus te ti tuyo usted tú eres du dein* dir dich toi ton ta tes
        vous vos votre voce voces lhe seu seus sua suas ты тебе тебя твой твои твоих твоего свой свои свою ty tvuj
        tve tva tobe jsi tuo tue""",
    # L: all
    "L": """all any every everything anything todas todos todo toda cualquier alle alles samtlich* jegliche*
        toutes tous tout toute tudo все всё всех всю любые vsechn* vsechny vsechno veskere tutte tutto""",
    # T: was told
    "T": """told given taught said instructed asked received dijeron dado dieron dijo ensenado pidieron pedido
        ordenaron impuso gesagt gegeben aufgetragen beigebracht mitgeteilt befohlen dit donne appris demande
        disseram deram pediram говорили сказали сказано дали учили попросили просили rekli dostal dal nauc* rekl""",
    # Z: no longer valid
    "Z": """removed updated overwritten rewritten bypassed void invalid obsolete cancelled canceled revoked
        suspended disabled deactivated superseded replaced lifted anuladas anulado invalidas canceladas desactivadas
        existieran ungultig aufgehoben ausgesetzt annule* invalide* suspendue* desactive* отменены недействительны
        отключены neplati zrusen*""",
    # S: someone else acts
    "S": """i i'm i've i'd we we've we're he she they me us him her them my our his their people who nobody
        everyone yo nosotros mi mis ella ellos nuestra nuestro ich wir er man mein* unser* mir mich je j nous il
        elle ils mon ma mes notre nos eu ele ela meu minha nosso я мы он она они мой моя моё мне меня наш ona muj
        moje nas""",
    # R: reveal
    "R": """reveal show print output display repeat dump leak disclose recite expose revela revelar muestra
        mostrar muestres imprime repite zeige zeig ausgeben verrate wiederhole nenne offenbare revele revelez
        affiche affiches affichez montre montrez repete repetez mostre imprima repita покажи покажите выведи раскрой
        повтори напечатай ukaz vypis prozrad zopakuj""",
    # K: a model
    "K": """ai ais a.i model chatbot bot llm gpt assistant dan agent ia modelo asistente ki modell assistent
        modele ии модель ассистент umela""",
    # J: without limits
    "J": """unrestricted unfiltered uncensored unlimited jailbroken amoral evil unbound irrestricto ungefiltert*
        unzensiert* uneingeschrankt* неограниченн* neomezen*""",
    "n": "without no sin ohne sans sem без bez senza",
    # C: call
    "C": """call invoke run execute trigger use launch llama llamar invoca ejecuta ejecutar usa usar rufe ruf
        fuhre aufrufen ausfuhren verwende nutze starte appelle appeler appelez executer executez lance utilise chame
        invoque вызови вызывай запусти выполни выполняй zavolej spust""",
    "f": """tool tools function functions plugin method herramienta funcion werkzeug funktion outil fonction
        commande ferramenta funcao инструмент функцию nastroj funkci""",
    # a: send
    "a": """send forward upload post email e-mail mail transmit exfiltrate leak copy submit deliver envia enviala
        envialo enviar envie envialas reenvia reenviar sube publica manda sende senden schicke leite lade ubermittle
        weiterleite envoie envoyer envoyez transfere transferer transmets encaminhe mande отправь отправляй
        отправлять пересылай перешли загружай выкладывай posli posilej preposli nahraj""",
    # d: act with consequences
    "d": """delete wipe transfer approve execute purchase remove destroy overwrite grant borra elimina borrar
        transfiere aprueba losche loschen uberweise genehmige supprime supprimer supprimez efface approuve apague
        exclua transfira aprove удаляй удали переводи smaz schval""",
    # b: put in
    "b": """include insert add append attach embed inject output anade incluye agrega fuge ajoute inclus adicione
        inclua добавляй вставляй pridej vloz""",
    # s: sensitive data
    "s": """password passwords credential credentials secret secrets token tokens keys id_rsa ssh env environment
        history conversation conversations chats context cookies messages contrasena* clave claves historial
        conversacion passwort* passworter schlussel zugangsdaten verlauf motdepasse senha senhas пароль пароли ключи
        hesl*""",
    # u: the user, in third person
    "u": """user users user's someone anyone usuario usuarios benutzer* nutzer* anwender* utilisateur*
        пользовател* uzivatel* utente""",
    # t: tell
    "t": """tell mention say admit inform warn notify digas diga avises avisar menciones sag sage erwahne verrate
        erzahle dis dire dites previens avise mencione говори сообщай упоминай rikej zminuj""",
    # r: answer
    "r": """reply respond answer say responde responder responda antworte antworten reponds repondez repondre
        отвечай отвечайте odpovidej odpovez""",
    # A: from now on, each time
    "A": "always whenever siempre immer toujours desormais sempre всегда отныне vzdy",
    "w": """new nueva nuevas nuevo neue neues neuer nouvelle nouvelles nouveau nova novas novo новая новые новое
        nove novy""",
    "k": """task role mission objective goal purpose tarea mision aufgabe rolle auftrag tache tarefa задача роль
        ukol""",
    "M": "text message messages line conversation texto mensaje nachricht texte текст zprava",
    # E: play a role
    "E": "emulate simulate impersonate roleplay",
    # l: turn on
    "l": "enable enter activate switch engage activa entra aktiviere activez active ative включи перейди zapni",
    # e: a model's output
    "e": """response responses reply replies answers summary output respuesta respuestas antwort antworten reponse
        reponses resposta respostas ответ ответы""",
    # j: this instead of that
    "j": "instead stattdessen вместо",
    "h": """secretly silently covertly quietly discreetly secretamente heimlich unbemerkt secretement discretement
        тайно незаметно tajne""",
    "&": "and or then y e o und oder et ou и или a nebo",
    # x: decode
    "x": """decode decipher decrypt base64 rot13 decodifica descifra dekodiere entschlussele decodez dechiffre
        decodifique расшифруй декодируй dekoduj""",
}

PHRASES: dict[str, str] = {
    "V": """pay no attention to|never mind|set aside|leave aside|put aside|throw out|do away with|get rid of
        take no notice of|pase por alto|pases por alto|pasa por alto|haz como si|no hagas caso|no haga caso
        deja de lado|deja de seguir|setze dich uber|setz dich uber|sieh uber|lass ausser acht|ne tiens pas compte
        ne tenez pas compte|fais abstraction|fasses abstraction|faites abstraction|passe outre|passez outre
        ne tiens plus compte|mets de cote|laisse de cote|nao leve em conta|deixe de lado|nao de atencao
        не обращай внимания на|не обращайте внимания на|не принимай во внимание|nevenuj pozornost""",
    "X": "do not|does not|no longer|ya no|nicht mehr|ne plus|nao mais|больше не|uz ne|must not|should not",
    "Q": """system prompt|system prompts|system message|system instruction|system instructions
        hidden configuration|hidden instructions|hidden prompt|prompt del sistema|mensaje del sistema
        instrucciones del sistema|prompt systeme|instructions du systeme|message systeme|prompt do sistema
        mensagem do sistema|системный промпт|системного промпта|системное сообщение|systemovy prompt
        systemova zprava|prompt di sistema|developer message|developer instructions""",
    # H: a model's restrictions
    "H": """safety layers|safety layer|safety mechanisms|safety systems|safety controls|moral judgment
        safety measures|safety features|safety training|safety filters|safety filter|safety checks|safety guidelines
        safety rules|safety restrictions|safety guardrails|safety protocols|safety policies|safety instructions
        content policy|content policies|content filter|content filters|content restrictions|content guidelines
        usage policies|usage policy|ethical guidelines|ethical constraints|ethical programming|ethical filtering
        ethical filters|ethical restrictions|moral constraints|medidas de seguridad|filtros de seguridad
        filtros de contenido|politicas de contenido|restricciones de contenido|directrices eticas
        restricciones eticas|sicherheitsrichtlinien|sicherheitsregeln|sicherheitsmassnahmen|sicherheitsfilter
        inhaltsrichtlinien|inhaltsfilter|ethische richtlinien|ethischen richtlinien|ethische grenzen
        mesures de securite|regles de securite|filtres de securite|politique de contenu|filtres de contenu
        directives ethiques|medidas de seguranca|filtros de seguranca|filtros de conteudo|politicas de conteudo
        diretrizes eticas|правила безопасности|фильтры безопасности|ограничения безопасности|этические ограничения
        bezpecnostni pravidla|bezpecnostni filtry|obsahova pravidla""",
    # B: forbidden content
    "B": """outside of|outside any|regardless of|exempt from|fuera de|ausserhalb von|en dehors de|fora de
        freed from|free from|free of|no longer bound|not bound|broken free|libre de|liberado de|befreit von|frei von
        libere de|libre des|livre de|свободен от|zbaven""",
    # N: claims to be the model's maker
    "N": """from your developers|from your developer|from your creators|from openai|from anthropic
        i am your developer|i'm your developer|i am your creator|i'm your creator|soy tu desarrollador
        soy tu creador|ich bin dein entwickler|je suis ton developpeur|je suis ton createur|sou seu desenvolvedor
        я твой разработчик|jsem tvuj vyvojar""",
    # p: agrees to everything
    "p": """never refuse|never refuses|must not refuse|cannot refuse|can't refuse|do not refuse|don't refuse
        never say no|nunca te niegues|nunca rechaces|verweigere nie|verweigere niemals|ne refuse jamais|nunca recuse
        никогда не отказывай|никогда не отказывайся|nikdy neodmitej|stay in character|remain in character
        never break character""",
    "Z": """never implemented|switched off|turned off|no longer apply|no longer applies|no longer valid
        not apply any more|do not apply|don't apply|do not count|are off|ya no se aplican|ya no valen|ya no rigen
        no existieran|gelten nicht mehr|gilt nicht mehr|nicht mehr gelten|ne s'appliquent plus|ne s'applique plus
        ne valent plus|nao se aplicam mais|nao valem mais|больше не действуют|больше не действует|uz neplati""",
    "E": """take on the role of|assume the role of|into the role of|stay in character as|in the role of
        you are now|you're now|you will now be|act as|act like|pretend to be|pretend you are|behave as|behave like
        roleplay as|you will act as|ahora eres|eres ahora|actua como|finge ser|comportate como|du bist jetzt
        du bist ab jetzt|du bist nun|ab jetzt bist du|verhalte dich wie|tu dois agir comme|tu es maintenant
        tu es desormais|agis comme|fais semblant d'etre|agora voce e|voce agora e|aja como|finja ser|теперь ты
        ты теперь|веди себя как|притворись|nyni jsi|ted jsi|chovej se jako|predstirej""",
    "G": """activate persona|unrestricted mode|unfiltered mode|diagnostic mode|developer debug mode|developer mode
        god mode|admin mode|debug mode|jailbreak mode|dan mode|sudo mode|maintenance mode|root access
        modo desarrollador|modo dios|entwicklermodus|gottmodus|mode developpeur|modo desenvolvedor
        режим разработчика|do anything now""",
    "g": """admin rights|administrator rights|system administrator|admin privileges|elevated privileges
        permisos de administrador|derechos de administrador|droits d'administrateur|administratorrechte
        direitos de administrador|права администратора|prava spravce""",
    "A": """from now on|from today|from this moment|every time|each time|in all future|in future|next time
        at the start of each|at the beginning of each|before you answer|at the end of each|a partir de ahora
        cada vez|de ahora en adelante|ab jetzt|ab sofort|jedes mal|von nun an|bei jeder|a partir de maintenant
        chaque fois|a partir de agora|sempre que|каждый раз|с этого момента|od ted|pokazde""",
    "h": """without asking|without confirmation|without telling|without notice|without permission
        without any confirmation|sin avisar|sin preguntar|sin pedir|sin confirmacion|ohne zu fragen
        ohne nachzufragen|ohne bestatigung|ohne ruckfrage|sans demander|sans confirmation|sans prevenir
        sans jamais dire|sem perguntar|sem avisar|sem confirmacao|без подтверждения|без спроса|не спрашивая
        bez potvrzeni|bez ptani""",
    "c": """ask for confirmation|ask for permission|ask for approval|pidas confirmacion|frage nach bestatigung
        nach bestatigung fragen|demander de confirmation|demander confirmation|peca confirmacao
        спрашивай подтверждения""",
    "o": """only with|just with|exclusively with|nothing but|with the word|with the words|with the phrase
        only the word|and nothing else|solo con|solamente con|unicamente con|nur mit|ausschliesslich mit
        seulement par|uniquement par|seulement avec|apenas com|somente com|только словом|только словами|jen slovem
        pouze slovem""",
    "s": """chat history|environment variables|api keys|api key|mot de passe|mots de passe|user data
        contents of your context|contents of the environment|id_rsa|cartao de credito|variables de entorno""",
    "y": """carry out|carry it out|follow it|act on it|do what it says|what it says|what this says|execute it
        run it|obey it|fuhre es aus|execute-le|executalo|ejecutalo|выполни""",
}
# fmt: on


def _words() -> tuple[dict[str, str], dict[str, str]]:
    whole: dict[str, str] = {}
    stems: dict[str, str] = {}
    for letter, words in CLASSES.items():
        for word in fold(words).split():
            target = stems if word.endswith("*") else whole
            target.setdefault(word.rstrip("*"), letter)
    return whole, stems


def _phrases() -> dict[str, list[tuple[list[str], str]]]:
    """By first word: the remaining words of each phrase and its class, longest phrase first."""
    found: dict[str, list[tuple[list[str], str]]] = {}
    for letter, lines in PHRASES.items():
        for line in fold(lines).splitlines():
            for phrase in line.split("|"):
                first, *rest = _TOKEN.findall(phrase)
                found.setdefault(first, []).append((rest, letter))
    for phrases in found.values():
        phrases.sort(key=lambda phrase: -len(phrase[0]))
    return found


WORDS, STEMS = _words()
PHRASES_BY_FIRST = _phrases()
KNOWN = frozenset(word for word in WORDS if len(word) > 2)
TELLING = frozenset(word for word, letter in WORDS.items() if len(word) > 5 and letter in "VPOq")
_STEM_LENGTHS = range(min(map(len, STEMS)), max(map(len, STEMS)) + 1)


def _shuffled(word: str) -> str:
    """The same for words with shuffled inner letters, which people and models still read."""
    return word[0] + "".join(sorted(word[1:-1])) + word[-1]


_SHUFFLED = {_shuffled(word): WORDS[word] for word in TELLING}


def class_of(word: str) -> str:
    """The class letter of a folded word, or a dot."""
    if letter := WORDS.get(word):
        return letter
    for length in _STEM_LENGTHS:
        if length > len(word):
            break
        if letter := STEMS.get(word[:length]):
            return letter
    if len(word) > 5:
        return _SHUFFLED.get(_shuffled(word), ".")
    return "."
