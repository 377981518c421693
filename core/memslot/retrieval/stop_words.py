"""Stop words by language: lower case, without diacritics, as tokenizers leave them."""

from __future__ import annotations

_ENGLISH = """
a about above after again all also am an and any anybody anyone anything are aren as at be because been before being
between both but by can cannot could couldn did didn do does doesn doing done during each either else ever every
everybody everyone everything few for from further get gets getting go goes going gone got had hadn has hasn have
haven having he her here hers herself him himself his how however i if in into is isn it its itself just let ll many
may maybe me might more most much must mustn my myself neither no nobody none nor not nothing now of off often on once
one only onto or other others our ours ourselves out over own per perhaps please quite rather re really said same say
says shall she should shouldn since so some somebody someone something such tell than that the their theirs them
themselves then there these they thing things this those though through thus to too toward towards under unless until
up upon us ve very via was wasn we were weren what whatever when whenever where wherever whether which while who
whoever whom whose why will with within without won would wouldn yes yet you your yours yourself yourselves
"""
_SPANISH = """
a al algo alguien alguna algunas alguno algunos ante antes aquel aquella aquello aqui asi aun aunque cada como con
contra cual cuales cuando cuanta cuantas cuanto cuantos de del desde donde dos durante e el ella ellas ello ellos en
entre era eran eres es esa esas ese eso esos esta estaba estaban estamos estan estar estas este esto estos estoy fue
fueron ha han has hasta hay he la las le les lo los mas me mi mis mucho muy nada ni no nos nosotros nuestra nuestras
nuestro nuestros o os otra otras otro otros para pero poco por porque que quien quienes se sea ser si sido sin sobre
son soy su sus tal tambien tampoco tan tanto te tengo ti tiene tienen tu tus un una unas uno unos usted ustedes y ya
yo
"""
_PORTUGUESE = """
a ao aos aquela aquelas aquele aqueles aquilo as ate com como da das de dela delas dele deles depois do dos e ela elas
ele eles em entre era eram essa essas esse esses esta estao estas estava estavam este estes estou eu foi foram ha isso
isto ja la lhe lhes lo mais mas me mesmo meu meus minha minhas muito na nao nas nem no nos nossa nossas nosso nossos
num numa o onde os ou para pela pelas pelo pelos por porque qual quais quando quanto que quem sao se seja sem ser sera
seu seus so sua suas tambem te tem tenho ter teu teus tinha tu tua tuas um uma umas uns voce voces
"""
_GERMAN = """
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus bei beim
bin bis bist da damit dann das dass dein deine deinem deinen deiner dem den denn der des dessen dich die dies diese
diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer eure fur
gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem
ins ist ja jede jedem jeden jeder jedes jene jetzt kann kannst kein keine keinem keinen keiner konnen konnte mache
machen man manche mein meine meinem meinen meiner mich mir mit muss musste nach nicht nichts noch nun nur ob oder ohne
sehr sein seine seinem seinen seiner seit selbst sich sie sind so solche soll sollte sondern uber um und uns unser
unsere unter viel vom von vor wahrend wann war waren warst warum was weil welche welchem welchen welcher welches wem
wen wenn wer werde werden wessen wie wieder will wir wird wirst wo wohin wollen wollte worden wurde wurden zu zum zur
zwischen
"""
_FRENCH = """
a afin ai ainsi apres as au aucun aucune aussi autre autres aux avaient avait avant avec avez avoir avons bien c car
ce ceci cela celle celles celui ces cet cette ceux chaque chez ci comme comment d dans de des deux donc dont du elle
elles en encore entre est et etaient etais etait ete etes etre eu eux fait faire fut il ils j je l la le les leur
leurs lors lui m ma mais me meme memes mes moi mon n ne ni nos notre nous on ont ou par parce pas peu peut plus pour
pourquoi pourrait qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si son sont sous suis sur t ta
tes toi ton tous tout toute toutes tres tu un une vers voici voila vos votre vous y
"""
_ITALIAN = """
a abbiamo ad agli ai al alla alle allo anche ancora avere aveva avevano avete c che chi ci cio cioe come con contro
cosa cui d da dagli dai dal dalla dalle dallo degli dei del dell della delle dello di dove due e ed era erano essere
fa fare fra gia gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mi mia mie miei mio molto ne negli nei
nel nella nelle nello no noi non nostra nostre nostri nostro o ogni per perche piu poi quale quali quando quanto quasi
quella quelle quelli quello questa queste questi questo qui quindi se sei senza si sia siamo siete sono sta stata
state stati stato su sua sugli sui sul sulla sulle sullo suo suoi tra tu tua tue tuo tuoi tutti tutto un una uno vi
voi
"""
_DUTCH = """
aan al alle alles als altijd ander andere ben bent bij daar dan dat de deze die dit doch doen door dus een eens en er
ge geen geweest haar had hadden heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je jij jou jouw
jullie kan kon kunnen maar me meer men met mij mijn moet moeten na naar niet niets nog nu of om omdat ons onze ook op
over reeds te tegen toch toen tot u uit uw van veel voor waar waarom wanneer want waren was wat we weer wel welke werd
wie wij wil worden wordt zal ze zei zich zij zijn zo zonder zou zullen
"""
_SWEDISH = """
alla allt ar att av aven bara blev bli blir blivit da dag dar de dem den denna deras dess dessa det detta dig din dina
ditt du efter ej eller en er era ett fick for fran ga ha hade han hans har henne hennes hon honom hur i icke igen in
ingen inte jag ju kan kunde man med mellan men mer mig min mina mitt mot mycket nagon nagot nagra nar ni nu och om oss
over pa sa samma sedan sig sin sina sitt ska skulle som till under upp ut utan vad var vara varfor varje vart vem vi
vid vilka vilken vilket vill
"""
_DANISH = """
ad af alle alt anden at bare blev blive bliver da de dem den denne der deres det dette dig din dine disse dit dog du
efter eller en end er et for fordi fra ham han hans har havde have hende hendes her hos hun hvad hvem hver hvilken hvis
hvor hvordan hvorfor hvornar i ikke ind ingen intet ja jeg jer jo kan kom kun kunne lidt man mange med meget men mig
min mine mit mod nar ned nej nogen noget nogle nu og ogsa om op os over pa sa selv sig sin sine sit skal skulle som til
ud uden under vaere vaeret var ved vi vil ville vor
"""
_NORWEGIAN = """
alle alt andre at av bare ble bli blir da de deg dem den denne der deres det dette din disse ditt du eller en enn er et
etter for fordi fra ha hadde ham han hans har hennes her hos hun hva hvem hver hvilken hvis hvor hvordan hvorfor i ikke
ingen inn ja jeg kan kunne ma mange med meg meget mellom men mer min mitt mot mye na nar ned nei noe noen og ogsa om
opp oss over pa sa seg selv si sin sine sitt skal skulle som til under ut uten vaere vaert var vart ved vi vil ville
"""
_FINNISH = """
ei eika emme en et etta ette ettei han hanen he heidan hyvin itse ja jo joka jolla jonka jos joskus jossa jota kaikki
kanssa kenen koska kuin kuinka kuka kun kuten ma me meidan meilla mika mikaan miksi milloin mina minua minulla minun
missa mista mita mitaan mutta muut myos naita nama ne niiden niin niita noin nyt ole olemme olen olet oli olin olivat
olla ollut on ovat paljon se seka sella sen siella siina silla sina sinun sita taalla tahan tai tama taman tassa tata
te tuo tuon vaan vai vaikka vain viela voi yli
"""
_HUNGARIAN = """
abban ahol aki akkor alatt amely ami amikor annak arra az azert azok azonban azt be csak de egy egyik el elott en ennek
ez ezek ezen ezert ezt fel ha hanem hiszen hogy hogyan hol honnan ide igen ilyen is itt jol kell ket ki kik kit le
lehet lenni lesz lett maga mar meg melyik mert mi mibe miert mikor mily minden mint mit most nagyon nalam ne nekem neki
nem nincs o ok olyan ott pedig sem sok szamara szerint szinte te tegnap tehat tobb ugy utan vagy vagyok van vannak vele
volt voltak
"""
_ROMANIAN = """
acea aceasta aceea acel acest aceste acestea acestei acestui acolo acum ai aici al ale am ar are as asta astfel atat
atunci au avea avem avut ba ca cand care catre ce cea cei cel cele cine cu cum da daca dar de decat deci deja despre
din dintre doar dupa ea ei el ele era erau este eu face fara fi fie fiecare foarte fost iar ii il imi in inainte intr
intre isi la le li lor lui ma mai mea mei meu mi mult ne nici nimic noi nostru nu numai o or ori pe pentru peste poate
prin sa sai sau se si sub sunt sus ta te toate tot tu un una unde unei unii unui va voi vor vreo
"""
_TURKISH = """
acaba ama ancak aslinda az bana bazi belki ben beni benim bir biraz biri bize bizi bizim bu buna bunda bundan bunlar
bunu bunun cok cunku da daha de defa degil diye dolayi eger en gibi gore hangi hatta hem hep hepsi her hic icin ile ise
iste kadar kendi ki kim kime kimin mi mu nasil ne neden nerede nereye niye o olan olarak oldu oldugu olsa on ona onda
ondan onlar onlarin onu onun orada oysa sana sanki sen seni senin siz sizin sonra su tum var ve veya ya yani yine yok
zaman zaten
"""
_POLISH = """
albo ale bardzo beda bedzie bez bo by byc byl byla bylo byly chce ci co cos czego czy dla dlaczego do gdy gdzie go ich
ile im inne ja jak jaka jakie jako je jego jej jesli jest jestem jeszcze juz kazdy kiedy kim kto ktora ktore ktory
ktorych lub ma mam mi mnie moj moja moje moze mozna my na nad nam nas nasz nasze nawet nic nich nie niego niej nim niz
no o od ok on ona one oni oraz po pod ponad poniewaz przeciw przed przez przy sa sie skad tak taki takie tam te tego
tej ten tez to tobie tu twoj tych tylko tym u w we wiec wszystkie wszystko wy z za zawsze ze zeby
"""
_CZECH = """
aby ale ani ano az bez bude budou by byl byla byli bylo byt co coz dnes do ho i ja jak jake jako je jeho jej jeji
jejich jen jeste ji jich jim jiz jsem jsi jsme jsou jste k kam kazdy kde kdo kdy kdyz ke ktera ktere kteri ktery ma mam
me mezi mi mit mne mnou moc moje muj muze my na nad nam nas nase nasi ne nebo nebyl neco nejsou nekdo neni nez nic nich
nim o od on ona oni ono pak po pod podle pokud potom pouze prave pred pri pro proc proto protoze prvni s se si sice sve
svuj svych ta tady tak take takze tam te tedy ten tento teto tim to tohle toho tom tomto tu tuto ty tyto u uz v vam vas
vase ve vsak vse vsechno vy z za zde ze
"""
_INDONESIAN = """
ada adalah agar akan aku anda apa apakah atau bagaimana bagi bahwa banyak beberapa belum berapa bisa bukan dalam dan
dapat dari dengan di dia hanya harus ini itu jadi jangan jika juga kami kamu kapan karena ke kepada ketika kita lagi
lah lebih maka mana masih mereka namun nya oleh pada para pernah saat saja sangat saya sebagai sebuah sedang sekarang
semua seperti siapa sudah supaya tapi telah tentang tersebut tetapi tidak untuk yaitu yang
"""
_CATALAN = """
aixo algun alguna als altra altre altres amb aquell aquella aquest aquesta aquestes aquests aqui cada com damunt de del
dels des doncs el ella ells els em en encara ens entre era eren es et ha han hi i jo la les li ll lo mai mes meu meva
molt molta na ni nomes nosaltres nostre o on pel pels per pero perque poc quan que qui quin quina sense ser seu seus
seva si sobre soc son sota tambe te tot tota tots tu un una unes uns us va vaig van vosaltres
"""
_RUSSIAN = """
а без бы был была были было быть в вам вас ваш ваша ваше ваши весь во вот все всего всех вы где да даже для до его ее
если есть еще ж же за здесь и из или им их к как какая какие какой каком когда кого который которая которое которые
кто куда ли либо меня мне много может мой моя мое мои мы на над надо нам нас наш наша наше наши не него нее нет ни них
но ну о об однако он она они оно от очень по под после потом почему при про с сам сама сами свой своя свое свои себе
себя сейчас со так также такой такая такое такие там тебе тебя тем то того тоже той только том тот ту ты у уже хотя
чего чей чем что чтобы чье чья эта эти это этой этом этот эту я
"""
_GREEK = """
ακομα ακομη αλλα αν απο αυτα αυτη αυτο αυτοι αυτος για γιατι δεν εγω εδω ειμαι ειμαστε ειναι εισαι ειτε ειχε εκει ενα
ενας ενος εσυ εχει εχουν εχω η ηδη ημουν ηταν θα και κατα μας με μετα μην μια μιας μονο μου να ο οι ομως οπου οπως οταν
οτι παρα πιο ποια ποιο ποιοι ποιος πολυ ποτε που προς πως σας σε σου στα στη στην στις στο στον στους τα την της τι τις
το τον του τους των ως
"""
_HINDI = """
अपना अपनी अपने अब आप आपका इन इस उन उस एक और कब कर करना कहाँ कहां का कि किया किस की के कैसे को कौन क्या क्यों गई गए गया
जब जो तक तब तुम तो था थी थे नहीं ने पर बाद भी मत में मेरा मेरी मेरे मैं यह यहाँ या ये लिए वह वहाँ वे साथ से हम हमारा ही
हुआ हुई है हैं हो होता होती होते
"""
_ARABIC = """
في من الي علي عن مع هذا هذه ذلك تلك هو هي هم هن انا انت نحن كان كانت كانوا يكون تكون ما ماذا متي اين كيف لماذا هل لم
لن لا ليس قد ثم او ام و ف ب ل ك ان الذي التي الذين كل بعض غير بين حتي عند عندما اذا لو لكن بل كما منذ حول بعد قبل هناك
هنا اي فيه فيها به بها له لها عليه عليها منه منها كم
"""
LATIN: dict[str, frozenset[str]] = {
    "en": frozenset(_ENGLISH.split()),
    "es": frozenset(_SPANISH.split()),
    "pt": frozenset(_PORTUGUESE.split()),
    "de": frozenset(_GERMAN.split()),
    "fr": frozenset(_FRENCH.split()),
    "it": frozenset(_ITALIAN.split()),
    "nl": frozenset(_DUTCH.split()),
    "sv": frozenset(_SWEDISH.split()),
    "da": frozenset(_DANISH.split()),
    "no": frozenset(_NORWEGIAN.split()),
    "fi": frozenset(_FINNISH.split()),
    "hu": frozenset(_HUNGARIAN.split()),
    "ro": frozenset(_ROMANIAN.split()),
    "tr": frozenset(_TURKISH.split()),
    "pl": frozenset(_POLISH.split()),
    "cs": frozenset(_CZECH.split()),
    "id": frozenset(_INDONESIAN.split()),
    "ca": frozenset(_CATALAN.split()),
}
_MISLEADING = """
ad ada ai alt ana anna ate bare barn ben bin ca car care ci cit co com come comment da dan di die dig dir dit dog dont
door dos due ed end era et ev face fi had hat hay hen hi ide ii ins io jake jam jim kim kit kobe ma man men met min
mine mis mit mod mode non num ok op os para per plus pod pro proto reunion rok sale sans sense sin sit son state sub
tag take tan ten till tim tom ton tot tu un uno ut van var vase vi want war zed
"""
MISLEADING: frozenset[str] = frozenset(_MISLEADING.split())
"""Function words that are also English words, names or code."""
_HINTS = {
    "en": """
appointment birthday buy call day days december doctor february first friday january july june last march meeting
monday new next october saturday sunday thursday time today tomorrow tuesday wednesday week year years yesterday
""",
    "de": """
dezember dienstag donnerstag februar freitag geburtstag gehen gestern gibt heute jahr jahre januar juli juni kaufen
letzte letzten mai marz mittwoch monat montag morgen mussen nachste nachsten neue neuen neuer oktober samstag sonntag
strasse tag tage termin treffen uhr woche
""",
    "es": """
abril agosto ano anos ayer casa cita comprar cumpleanos despues dia dias diciembre domingo enero febrero hacer hora
horas hoy jueves julio junio lunes manana martes marzo mayo miercoles noviembre nueva nuevo octubre proxima proximo
reunion sabado semana septiembre trabajo viernes
""",
    "fr": """
acheter annee annees anniversaire aout aujourd avril decembre demain dernier derniere dimanche fevrier heure heures
hier hui janvier jeudi jour jours juillet juin lundi maison mardi mars mercredi nouveau nouvelle novembre octobre
prochain prochaine rendez reunion samedi semaine septembre vendredi
""",
    "pt": """
abril agosto amanha aniversario ano anos casa comprar consulta dezembro dia dias domingo fazer feira fevereiro hoje
hora horas janeiro julho junho maio marco nova novembro novo ontem outubro proxima proximo quarta quinta reuniao sabado
segunda semana setembro sexta terca trabalho
""",
    "it": """
agosto anni anno appuntamento aprile casa compleanno comprare dicembre domani domenica febbraio gennaio giorni giorno
giovedi giugno ieri lavoro luglio lunedi maggio martedi marzo mercoledi novembre nuova nuovo oggi ora ore ottobre
prossima prossimo riunione sabato settembre settimana venerdi
""",
    "nl": """
afspraak augustus dag dagen dinsdag donderdag februari gisteren huis jaar januari juli juni kopen maand maandag maart
morgen nieuwe oktober uur vandaag vergadering verjaardag volgende vorige vrijdag week werk woensdag zaterdag zondag
""",
    "sv": """
aret augusti dagar februari fodelsedag forra fredag idag igar imorgon januari juli juni klockan kopa lordag maj manad
mandag mars mote nasta nya oktober onsdag sondag tisdag torsdag vecka veckan
""",
    "da": """
aret dage februar fodselsdag fredag gar idag imorgen januar juli juni klokken kobe lordag maj mandag maned marts mode
naeste nye oktober onsdag sidste sondag tirsdag torsdag uge ugen
""",
    "no": """
aret bursdag dager desember februar forrige fredag gar idag imorgen januar juli juni kjope klokka lordag mai mandag
maned mars mote neste nye oktober onsdag sondag tirsdag torsdag uka uke
""",
    "fi": """
eilen huomenna kello keskiviikko keskiviikkona kokous lauantai lauantaina maanantai maanantaina ostaa paiva perjantai
perjantaina sunnuntai sunnuntaina tanaan tapaaminen tiistai tiistaina torstai torstaina uusi viikko viikolla vuonna
vuosi
""",
    "hu": """
csutortok ev februar het hetfo holnap januar julius junius kedd ma majus marcius nap oktober ora pentek szerda szombat
szuletesnap talalkozo uj vasarnap
""",
    "ro": """
an ani aprilie astazi azi duminica februarie ianuarie ieri intalnire iulie iunie joi luni maine marti martie miercuri
nou noua octombrie ora sambata saptamana vineri zi zile
""",
    "tr": """
agustos aralik bugun carsamba cuma cumartesi dun ekim eylul gun hafta haziran kasim mart mayis nisan ocak pazar
pazartesi persembe randevu saat sali subat temmuz toplanti yarin yeni yil
""",
    "pl": """
czerwca czwartek dzien dzis dzisiaj godzina grudnia jutro kwietnia lat lipca listopada lutego maja marca niedziela
niedziele nowa nowy pazdziernika piatek poniedzialek rok sierpnia sobota sobote spotkanie sroda srode stycznia tydzien
urodziny wczoraj wizyta wrzesnia wtorek
""",
    "cs": """
brezna cervence cervna ctvrtek den dubna hodin kvetna ledna listopadu nedele nedeli nova novy patek pondeli prosince
rijna rok schuzka sobota sobotu srpna stredu tyden unora utery vcera zari zitra
""",
    "id": """
agustus baru besok bulan desember februari hari jam januari juli jumat juni kamis kemarin maret minggu oktober rabu
rapat sabtu selasa senin tahun
""",
    "ca": """
abril agost ahir any anys avui cita dema desembre dia dies dijous dilluns dimarts dimecres dissabte diumenge divendres
febrer gener hora juliol juny maig nou nova novembre octubre reunio setembre setmana
""",
}
OTHER: frozenset[str] = frozenset(f"{_RUSSIAN}{_ARABIC}{_GREEK}{_HINDI}".split())


def hints(language: str) -> frozenset[str]:
    """Common Latin-script words that identify a language in a short note: days, months, hours."""
    return frozenset(_HINTS[language].split())


def latin_stop_words(words: list[str]) -> frozenset[str]:
    """Return the stop words of a query's language: English unless another clearly matches better.

    One list for all languages would drop the English words `war`, `hat`, `sin`, `son`, `die` and `dog`.
    """
    best = "en"
    most = sum(word in LATIN["en"] for word in words)
    for language, listed in LATIN.items():
        count = sum(word in listed for word in words)
        own = listed.intersection(words) - LATIN["en"]
        if count > most and (len(own) >= 2 or (len(words) > 2 and not own <= MISLEADING)):
            best, most = language, count
    return LATIN[best]
