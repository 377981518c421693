"""A second author's lists, written before reading the rules. Values are made from parts with a fixed seed."""

from __future__ import annotations

import base64
import json
import random
import string

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
BASE32 = string.ascii_uppercase + "234567"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
_random = random.Random(4711)


def rnd(length: int, alphabet: str = ALNUM) -> str:
    return "".join(_random.choice(alphabet) for _ in range(length))


def b64(length: int) -> str:
    return base64.b64encode(_random.randbytes(length)).decode()


def url64(length: int) -> str:
    return base64.urlsafe_b64encode(_random.randbytes(length)).decode().rstrip("=")


def guid() -> str:
    return "-".join(rnd(n, HEX) for n in (8, 4, 4, 4, 12))


def jwt() -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(json.dumps({"sub": rnd(10), "iat": 1516239022}).encode()).decode().rstrip("=")
    return f"{head}.{body}.{url64(32)}"


def armour(kind: str, lines: int = 5) -> tuple[str, str]:
    body = "\n".join(b64(48) for _ in range(lines))
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----", body


def _basic(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


SECOND_SECRETS: list[tuple[str, str]] = []


def _add(template: str, secret: str) -> None:
    SECOND_SECRETS.append((template.replace("@@", secret), secret))


# Vendors' formats, each in a place where people write it.
_add("STRIPE_SECRET_KEY=@@", "sk_" + "live_" + rnd(24))
_add("The restricted Stripe key is `@@`, rotate it in June.", "rk_" + "live_" + rnd(24))
_add("  webhook_secret: @@", "whsec_" + rnd(32))
_add("stripe listen --api-key @@", "sk_" + "test_" + rnd(24))
_add('export SLACK_APP_TOKEN="@@"', "xapp-" + "1-A0" + rnd(9, UPPER) + "-" + rnd(13, "123456789") + "-" + rnd(64, HEX))
_add("slack bot: @@", "xox" + "b-" + rnd(12, "123456789") + "-" + rnd(12, "123456789") + "-" + rnd(24))
_add(
    "curl -X POST https://hooks.slack" + ".com/services/@@ -d '{}'",
    "T" + rnd(8, UPPER) + "/B" + rnd(8, UPPER) + "/" + rnd(24),
)
_add(
    "- Deploy channel: https://hooks.slack" + ".com/workflows/@@",
    "T" + rnd(8, UPPER) + "/A" + rnd(8, UPPER) + "/" + rnd(17, string.digits) + "/" + rnd(24),
)
_add("Discord hook <https://discord" + ".com/api/webhooks/@@>", rnd(18, "123456789") + "/" + rnd(68))
_add("client.login('@@');", "M" + rnd(23) + "." + rnd(6) + "." + rnd(38))
_add(
    "Teams: https://contoso.webhook.office.com/webhookb2/@@",
    f"{guid()}@{guid()}/IncomingWebhook/{rnd(32, HEX)}/{guid()}",
)
_add("bot = Bot(token='@@')", rnd(10, "123456789") + ":AA" + rnd(33))
_add("https://api.telegram.org/bot@@/getMe", rnd(9, "123456789") + ":AA" + rnd(33))
_add("git clone https://oauth2:@@@gitlab.com/acme/app.git", "glpat" + "-" + rnd(20))
_add("GitLab deploy token @@ (read only)", "gldt" + "-" + rnd(20))
_add("gitlab-runner register --token @@", "glrt" + "-" + rnd(20))
_add("| GitHub | ana | @@ |", "gh" + "p_" + rnd(36))
_add("set GITHUB_TOKEN=@@", "github" + "_pat_" + rnd(22) + "_" + rnd(59))
_add("x-access-token:@@", "gh" + "s_" + rnd(36))
_add("//registry.acme.example/:_authToken=@@", "npm" + "_" + rnd(36))
_add("//npm.acme.dev/:_authToken=@@", guid())
_add("_auth=@@", b64(24))
_add("twine upload -u __token__ -p @@", "pypi" + "-AgEIcHlwaS5vcmc" + url64(60))
_add("RubyGems: @@", "rubygems" + "_" + rnd(48, HEX))
_add("cargo login @@", "cio" + rnd(32))
_add("docker login -u acme -p @@", "dckr" + "_pat_" + rnd(27))
_add("doctl auth init -t @@", "dop" + "_v1_" + rnd(64, HEX))
_add("do oauth: @@", "doo" + "_v1_" + rnd(64, HEX))
_add("X-Shopify-Access-Token: @@", "shpat" + "_" + rnd(32, HEX))
_add("shopify shared @@", "shpss" + "_" + rnd(32, HEX))
_add("VAULT_TOKEN=@@", "hvs" + "." + url64(70))
_add("vault login @@", "s" + "." + rnd(24))
_add("batch token @@", "hvb" + "." + url64(110))
_add("export GROQ_API_KEY=@@", "gsk" + "_" + rnd(52))
_add("xAI key: @@", "xai" + "-" + rnd(80))
_add("Perplexity → @@", "pplx" + "-" + rnd(48))
_add("Replicate token @@ works again", "r8" + "_" + rnd(37))
_add("hf auth login --token @@", "hf" + "_" + rnd(34, string.ascii_letters))
_add("supabase login --token @@", "sbp" + "_" + rnd(40, HEX))
_add("SUPABASE_SECRET=@@", "sb" + "_secret_" + url64(23))
_add("Jira: ana@acme.dev / @@", "ATATT3" + "xFfGF0" + url64(120) + "=" + rnd(8, HEX.upper()))
_add("bitbucket app password @@", "ATBB" + rnd(24) + rnd(8, HEX.upper()))
_add("databricks configure --token @@", "dapi" + rnd(32, HEX))
_add("# created: 2024-05-01\n@@", "AGE-SECRET-" + "KEY-1" + rnd(58, BECH32))
_add("OPENAI_API_KEY=@@", "sk-" + "proj-" + url64(55) + "T3BlbkFJ" + url64(55))
_add("openai.api_key = '@@'", "sk-" + rnd(48))
_add('{"x-api-key": "@@"}', "sk-" + "ant-api03-" + url64(69) + "AA")
_add("OpenRouter: **@@**", "sk-" + "or-v1-" + rnd(64, HEX))
_add("GEMINI_API_KEY: @@", "AIza" + "Sy" + rnd(33))
_add("https://maps.googleapis.com/maps/api/js?key=@@&callback=init", "AIza" + "Sy" + rnd(33))
_add('"client_secret":"@@"', "GOCSPX" + "-" + rnd(28))
_add("gcloud: @@", "ya29" + ".a0A" + url64(90))
_add("refresh 1: @@", "1//0" + "g" + url64(70))
_add("firebase: fcm server @@", "AAAA" + rnd(7) + ":APA91b" + rnd(134))
_add("SENDGRID_API_KEY='@@'", "SG" + "." + url64(16) + "." + url64(32))
_add("Mailgun @@", "key" + "-" + rnd(32, HEX))
_add("mailchimp: @@", rnd(32, HEX) + "-us14")
_add("TWILIO_AUTH_TOKEN=@@", rnd(32, HEX))
_add("twilio api key SID @@", "SK" + rnd(32, HEX))
_add("Mapbox: @@", "sk" + ".eyJ" + url64(60) + "." + url64(16))
_add("New Relic: @@", "NRAK" + "-" + rnd(27, UPPER))
_add("DD_API_KEY=@@", rnd(32, HEX))
_add("sentry-cli --auth-token @@ releases list", "sntrys" + "_eyJ" + url64(90) + "_" + url64(32))
_add("Grafana @@", "glsa" + "_" + rnd(32) + "_" + rnd(8, HEX))
_add("grafana cloud: @@", "glc" + "_eyJ" + b64(60))
_add("Linear: @@", "lin" + "_api_" + rnd(40))
_add("NOTION_TOKEN = @@", "ntn" + "_" + rnd(46))
_add("notion old: @@", "secret" + "_" + rnd(43))
_add("airtable pat: @@", "pat" + rnd(14) + "." + rnd(64, HEX))
_add("figma: @@", "figd" + "_" + url64(30))
_add("Postman @@", "PMAK" + "-" + rnd(24, HEX) + "-" + rnd(34, HEX))
_add("terraform login: @@", rnd(14) + ".atlasv1" + "." + rnd(64))
_add("pulumi: @@", "pul" + "-" + rnd(40, HEX))
_add("Doppler @@", "dp" + ".pt." + rnd(43))
_add("planetscale @@", "pscale" + "_tkn_" + rnd(43))
_add("fly auth token: @@", "fo1" + "_" + rnd(43))
_add('FLY_API_TOKEN="FlyV1 @@"', "fm2" + "_lJPE" + b64(90))
_add("netlify @@", "nfp" + "_" + rnd(36))
_add("vercel --token=@@", rnd(24))
_add("circle: @@", "CCIPAT" + "_" + rnd(22) + "_" + rnd(40, HEX))
_add("sonar.login=@@", "sqp" + "_" + rnd(40, HEX))
_add("tailscale up --authkey @@", "tskey" + "-auth-" + rnd(12) + "CNTRL-" + rnd(32))
_add("1Password service account: @@", "ops" + "_eyJ" + b64(210))
_add(
    "Secret Key: @@",
    "A3-"
    + rnd(6, UPPER)
    + "-"
    + rnd(6, UPPER)
    + "-"
    + rnd(5, UPPER)
    + "-"
    + rnd(5, UPPER)
    + "-"
    + rnd(5, UPPER)
    + "-"
    + rnd(5, UPPER),
)
_add("square: @@", "EAAA" + "l" + url64(44))
_add("square secret @@", "sq0" + "csp-" + url64(32))
_add("paypal/braintree: @@", "access_token" + "$production$" + rnd(16, LOWER) + "$" + rnd(32, HEX))
_add("fb graph: @@", "EAA" + "CEdEose0cBA" + rnd(150))
_add("Hubspot private app: @@", "pat-" + "na1-" + guid())
_add("zapier → https://hooks.zapier.com/hooks/catch/@@/", rnd(7, "123456789") + "/" + rnd(7, LOWER))
_add("AWS key id @@", "AKIA" + rnd(16, BASE32))
_add("aws_secret_access_key = @@", rnd(40, ALNUM + "/+"))
_add("AWS_SESSION_TOKEN=@@", "IQoJb3JpZ2luX2Vj" + b64(180))
_add("aws configure set aws_secret_access_key @@", rnd(40, ALNUM + "/+"))
_add("DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=@@;EndpointSuffix=core.windows.net", b64(64))
_add("https://acme.blob.core.windows.net/c/f.zip?sv=2022-11-02&sp=r&se=2025-01-01&sig=@@", rnd(43) + "%3D")
_add("Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=@@", b64(32))
_add("AZURE_CLIENT_SECRET=@@", rnd(3) + "8Q~" + rnd(34))
_add("azure devops pat: @@", rnd(76, ALNUM) + "AZDO" + rnd(4))
_add("cosmos AccountEndpoint=https://a.documents.azure.com:443/;AccountKey=@@;", b64(64))
_add("LTAI: @@", "LTAI" + rnd(20))
_add("tencent SecretId @@", "AKID" + rnd(32))
_add('cloudflare_api_token = "@@"', rnd(40, ALNUM + "_-"))
_add("okta: SSWS @@", "00" + rnd(40, ALNUM + "_-"))
_add("wandb login @@", rnd(40, HEX))
_add("Eth wallet private key: 0x@@", rnd(64, HEX))

# Key material.
for _kind in ("RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"):
    SECOND_SECRETS.append(armour(_kind))
SECOND_SECRETS.append(armour("PGP PRIVATE KEY BLOCK"))
_text, _body = armour("RSA PRIVATE KEY")
SECOND_SECRETS.append(("> " + _text.replace("\n", "\n> "), _body.split("\n")[2]))
_text, _body = armour("PRIVATE KEY")
SECOND_SECRETS.append(("key: |\n    " + _text.replace("\n", "\n    "), _body.split("\n")[-1]))
_service = {"type": "service_account", "private_key_id": rnd(40, HEX), "private_key": _text + "\n"}
SECOND_SECRETS.append((json.dumps(_service, indent=2), _body.split("\n")[1]))
_ppk = b64(48)
SECOND_SECRETS.append(
    (
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: ana\nPublic-Lines: 1\nAAAA\n"
        f"Private-Lines: 1\n{_ppk}\nPrivate-MAC: {rnd(64, HEX)}",
        _ppk,
    )
)
_add("[Interface]\nPrivateKey = @@\nAddress = 10.0.0.2/24", b64(32))
_add("client-key-data: @@", b64(120))
_add('"auths": {"https://index.docker.io/v1/": {"auth": "@@"}}', _basic("acme", rnd(14)))
_add("users:\n- name: admin\n  user:\n    token: @@", jwt())

# Passwords and named values in files.
_add("DB_PASS=@@", "hunter2")
_add("POSTGRES_PASSWORD: @@", "s3cr3t-" + "Pg!")
_add("MYSQL_ROOT_PASSWORD='@@'", "tr0ub4dor" + "&3")
_add("SECRET_KEY = '@@'", "django-insecure-" + rnd(40, LOWER + "!@#%^&*"))
_add("TOKEN=@@", rnd(32))
_add('"refresh_token": "@@"', rnd(48))
_add('  "password" : "@@",', "Winter" + "2024!")
_add("password => '@@',", "Zx9" + "-qplm")
_add("spring.datasource.password=@@", "Uk7" + "mangoTree")
_add("jdbc:postgresql://db:5432/app?user=app&password=@@&ssl=true", "v8" + "Kestrel!x")
_add("Server=tcp:db,1433;Database=app;User ID=sa;Password=@@;Encrypt=True;", "yourStr0ng" + "Pa55")
_add("Data Source=db;Uid=app;Pwd=@@;", "Gr33n" + "Lamp")
_add("postgres://app:@@@db.acme.dev:5432/app", "p4ss" + "w0rt")
_add("mongodb+srv://ana:@@@cluster0.abcde.mongodb.net/test", rnd(16))
_add("redis://:@@@cache:6379/0", rnd(20))
_add("amqp://guest:@@@mq:5672/", "rabbit" + "42hop")
_add("pip install --index-url https://ci:@@@pypi.acme.dev/simple acme", rnd(18))
_add("machine api.acme.dev\n  login ana\n  password @@", "bl4ck" + "Tulip")
_add("db.acme.dev:5432:app:ana:@@", "Pgp4ss" + "Line9")
_add("mysql -u root -p@@ app", "R00t" + "pass77")
_add("sshpass -p '@@' ssh ana@host", "Sesame" + "0pen!")
_add("curl -u ana:@@ https://acme.dev", "Kl33" + "blatt")
_add("curl -H 'Authorization: Bearer @@' https://acme.dev", rnd(40))
_add("Authorization: Basic @@", _basic("ana", "Kl33" + "blatt99"))
_add("Authorization: Token @@", rnd(40, HEX))
_add("-H 'X-API-Key: @@'", rnd(32, LOWER))
_add("Cookie: theme=dark; sessionid=@@; lang=en", rnd(32, LOWER))
_add("Set-Cookie: connect.sid=@@; HttpOnly", "s%3A" + rnd(32) + "." + rnd(43))
_add("PHPSESSID=@@", rnd(26, LOWER))
_add("access_token=@@&token_type=bearer", rnd(36))
_add("Here is the JWT: @@", jwt())
_add('const dbPassword = "@@";', "qu1et" + "River")
_add("self.api_secret: str = '@@'", rnd(32))
_add('client = Client(api_key="@@")', rnd(28))
_add("os.environ['SECRET_TOKEN'] = '@@'", rnd(30))
_add("ENV API_TOKEN @@", rnd(30))
_add('<add key="ApiSecret" value="@@" />', rnd(30))
_add("<password>@@</password>", "maven" + "R3po!")
_add("kubectl create secret generic db --from-literal=password=@@", "Blu3" + "Whale!")
_add("ansible_become_pass: @@", "Sud0" + "please")
_add('encryption_key: "@@"', rnd(64, HEX))
_add('signing-secret = "@@"', rnd(32, HEX))
_add("otpauth://totp/Acme:ana?secret=@@&issuer=Acme", rnd(32, BASE32))
_add("  - name: DB_PASSWORD\n    value: @@", "L0ngw" + "inded-9")
_add('{"name": "API_TOKEN", "value": "@@"}', rnd(32))

# Prose, tables, Markdown, languages.
_add("**Password:** @@", "Tiger" + "lily7")
_add("- **API key**: `@@`", rnd(32))
_add("| password | @@ |", "Wren" + "house_5")
_add("| Service | User | Password |\n|---|---|---|\n| VPN | ana | @@ |", "m0nta" + "gne!X")
_add("The wifi password is @@.", "bananas" + "plit99")
_add("password for the NAS is `@@`", "Synol0" + "gy#1")
_add('My password: "@@"', "correct horse battery " + "staple")
_add("Password: @@", "a,b;c" + "9Zq")
_add("login: ana / pw: @@", "Foxglove" + "22")
_add("PIN for the safe: @@", "4" + "8213")
_add("user: ana, pass: @@", "Qwe" + "rtz!9")
_add("Das WLAN-Passwort lautet @@", "Apfel" + "kuchen24")
_add("Passwort: @@", "Sommer" + "2024!")
_add("Kennwort = @@", "Berg" + "hütte77")
_add("contraseña: @@", "gatoN" + "egro88")
_add("La contraseña es @@", "Sol" + "yMar2023")
_add("mot de passe : @@", "Croiss" + "ant!7")
_add("Le mot de passe est « @@ »", "Lavande" + "_19")
_add("senha: @@", "praia" + "Azul55")
_add("A senha do wifi é @@", "Cafe" + "zinho31")
_add("пароль: @@", "Moskva" + "1980!")
_add("Пароль от вайфая — @@", "zimniy" + "Les42")
_add("密码：@@", "Panda" + "8888x")
_add("密码是 @@", "long" + "Jing#77")
_add("口令: @@", "zh0ng" + "Guo_1")
_add("パスワード：@@", "saku" + "Ra2024")
_add("パスワードは @@ です", "fuji" + "San#3776")
_add("비밀번호: @@", "han" + "Gang!82")
_add("비밀번호는 @@ 입니다", "kim" + "Chi2020")
_add("API 密钥：@@", rnd(32))
_add("APIキー: @@", rnd(36))
_add("clé API : @@", rnd(32))
_add("API-Schlüssel: @@", rnd(32))
_add("clave de API: @@", rnd(32))
_add("chave secreta: @@", rnd(32))
_add("ключ API: @@", rnd(32))

# Harder ones: prose, code and less common files.
_add("my github token is @@", "gh" + "p_" + rnd(36))
_add("AWS_SECRET_ACCESS_KEY=@@", rnd(40, ALNUM + "/+"))
_add("aws_access_key_id = AKIA" + "IOSFODNN7EXAMPLE\naws_secret_access_key = @@", rnd(40, ALNUM + "/+"))
_add("Heroku API key: @@", guid())
_add("HEROKU_API_KEY=@@", guid())
_add("export ANTHROPIC_AUTH_TOKEN=@@", "sk-" + "ant-" + rnd(40))
_add("cohere: CO_API_KEY=@@", rnd(40))
_add("MISTRAL_API_KEY=@@", rnd(32))
_add("TOGETHER_API_KEY: @@", rnd(64, HEX))
_add("Algolia admin key `@@`", rnd(32, HEX))
_add("ALGOLIA_ADMIN_KEY=@@", rnd(32, HEX))
_add("asana 1/@@", "12345678901234:" + rnd(32, HEX))
_add("DISCORD_TOKEN=@@", "MTA" + rnd(23) + "." + rnd(6) + "." + rnd(38))
_add("dropbox: @@", "sl.B" + url64(100))
_add("PagerDuty: Token token=@@", rnd(20))
_add("okta api token @@", "00" + rnd(40))
_add("snyk auth @@", guid())
_add("SNYK_TOKEN=@@", guid())
_add("CODECOV_TOKEN: @@", guid())
_add("Rollbar access token: @@", rnd(32, HEX))
_add("MAILGUN_API_KEY=@@", rnd(32, HEX) + "-" + rnd(8, HEX) + "-" + rnd(8, HEX))
_add("mailgun: @@", rnd(32, HEX) + "-" + rnd(8, HEX) + "-" + rnd(8, HEX))
_add("facebook app secret: @@", rnd(32, HEX))
_add("twitter bearer: @@", "AAAAAAAAAAAAAAAAAAAAA" + rnd(80) + "%3D" + rnd(20))
_add("spotify client secret = @@", rnd(32, HEX))
_add("zendesk_token: @@", rnd(40))
_add("flask SECRET_KEY='@@'", "dev-" + "k3y")
_add("app.secret_key = b'@@'", r"_5#y2L\"F4Q8z\n\xec]/")
_add("JWT_SECRET=@@", "mysuper" + "secretjwt")
_add("NEXTAUTH_SECRET=@@", b64(32))
_add("session_secret: @@", "keyboard" + " cat")
_add("password=@@", "admin" + "123")
_add("Password: @@", "qwerty" + "1234")
_add("passwd: @@", "toor" + "toor")
_add("root password is @@", "toor" + "1234")
_add("the password's @@", "blue" + "Monkey7")
_add("pw is @@", "blue" + "Monkey7")
_add("use password @@ to log in", "blue" + "Monkey7")
_add("creds: ana / @@", "blue" + "Monkey7!")
_add("user/pass: ana/@@", "blue" + "Monkey7!")
_add("username: ana password: @@", "blueM" + "onkey7!")
_add("Login with ana@acme.dev and password @@.", "blueM" + "onkey7!")
_add("wifi: SSID AcmeGuest, password @@", "blueM" + "onkey7!")
_add("WIFI:T:WPA;S:Acme;P:@@;;", "blueM" + "onkey7!")
_add("ftp://ana:@@@ftp.acme.dev/x", "blueM" + "onkey7!")
_add("smtp://postmaster%40acme.dev:@@@smtp.acme.dev:587", "blueM" + "onkey7")
_add("https://@@@github.com/acme/app.git", "gh" + "p_" + rnd(36))
_add("https://@@:x-oauth-basic@github.com/acme/app.git", rnd(40, HEX))
_add("sqlserver://db:1433;user=sa;password=@@;", "Str0ng" + "One!")
_add("https://o1.ingest.sentry.io DSN https://@@@o1.ingest.sentry.io/1", rnd(32, HEX) + ":" + rnd(32, HEX))
_add('curl -H "PRIVATE-TOKEN: @@"', rnd(20))
_add("curl --user 'ana:@@' x", "blueM" + "onkey7!")
_add("wget --password=@@ x", "blueM" + "onkey7!")
_add('psql "host=db user=ana password=@@ dbname=x"', "blueM" + "onkey7!")
_add("PGPASSWORD=@@ psql -h db", "blueM" + "onkey7!")
_add("http://x/y?access_token=@@", rnd(30))
_add("http://x/y?api_key=@@&q=1", rnd(20))
_add("http://x/y?token=@@", rnd(20))
_add("https://s3.amazonaws.com/b/k?X-Amz-Credential=AKIA&X-Amz-Signature=@@", rnd(64, HEX))
_add("authToken: '@@'", rnd(24))
_add("bearer_token: @@", rnd(24))
_add('<string name="api_key">@@</string>', rnd(32))
_add("<key>ApiToken</key>\n<string>@@</string>", rnd(32))
_add('"apiKey":"@@","authDomain":"x.firebaseapp.com"', "AIza" + "Sy" + rnd(33))
_add("private_key = '@@'", rnd(64, HEX))
_add("PRIVATE_KEY=0x@@", rnd(64, HEX))
_add("seed phrase: @@", "legal winner thank year wave sausage worth useful legal winner thank yellow")
_add("Recovery code: @@", "8f3k2-9dk3l")
_add("backup codes:\n@@", "48213-99120\n18273-11928")
_add("license key: @@", "-".join(rnd(5, UPPER) for _ in range(5)))
_add("Lizenzschlüssel: @@", "-".join(rnd(5, UPPER) for _ in range(5)))
_add("2FA secret: @@", rnd(16, BASE32))
_add("TOTP: @@", rnd(32, BASE32))
_add("Zugangsdaten: ana / @@", "blueM" + "onkey7!")
_add("Das Passwort für das NAS ist @@", "blueM" + "onkey7")
_add("Mein PW: @@", "blueM" + "onkey7")
_add("La clave del wifi es @@", "blueM" + "onkey7")
_add("Clave: @@", "blueM" + "onkey7")
_add("le mdp c'est @@", "blueM" + "onkey7")
_add("wifi的密码是@@", "blueM" + "onkey7")
_add("账号：ana 密码：@@", "blueM" + "onkey7")
_add("数据库密码为@@。", "blueM" + "onkey7")
_add("ログインパスワードは「@@」です。", "blueM" + "onkey7")
_add("암호: @@", "blueM" + "onkey7")
_add("пароль от базы: @@", "blueM" + "onkey7")
_add("Пароль администратора: @@", "blueM" + "onkey7")
_add("Admin-Passwort: **@@**", "blueM" + "onkey7")
_add("- Passwort → `@@`", "blueM" + "onkey7")
_add("* **Secret access key**: @@", rnd(40, ALNUM + "/+"))
_add("> token: @@", rnd(40))
_add("1. API Token - @@", rnd(40))
_add("API Token – @@", rnd(40))
_add("Token (staging): @@", rnd(40))
_add("`API_KEY`: `@@`", rnd(40))
_add("password\n```\n@@\n```", "blueM" + "onkey7!")
_add("Password:\n@@", "blueM" + "onkey7!")
_add("token = os.getenv('TOKEN', '@@')", rnd(40))
_add('api_key = os.environ.get("KEY") or "@@"', rnd(40))
_add("headers = {'Authorization': 'Bearer @@'}", rnd(40))
_add("headers={'X-Auth-Token': '@@'}", rnd(40))
_add(':password => "@@"', "blueM" + "onkey7!")
_add("$password = '@@';", "blueM" + "onkey7!")
_add("define('DB_PASSWORD', '@@');", "blueM" + "onkey7!")
_add('setPassword("@@")', "blueM" + "onkey7!")
_add("config.set('api_token', '@@')", rnd(30))
_add("requirepass @@", "blueM" + "onkey7!")
_add("bindpw @@", "blueM" + "onkey7!")
_add('psk="@@"', "blueM" + "onkey7!")
_add("wpa_passphrase=@@", "blueM" + "onkey7!")
_add("ana:$apr1$@@", rnd(8) + "$" + rnd(22))
_add("restic: RESTIC_PASSWORD=@@", "horse-" + "battery-staple")
_add("borg passphrase: @@", "horse battery staple correct")

SECOND_INNOCENTS: list[str] = [
    "The secret: nobody likes mushrooms.",
    "The secret is patience.",
    "The key to good bread: time.",
    "Key takeaways: ship small, measure, repeat.",
    "pwd=/home/ana",
    "PWD=/var/lib/app",
    "sk-2024-01-15-meeting-notes-berlin",
    "const apiKey = process.env.API_KEY",
    "const token = await getToken(user);",
    "password: required, at least 12 chars",
    "password: string",
    "password: str | None = None",
    "token: Optional[str] = None",
    "def login(user: str, password: str) -> Token:",
    "self.password = password",
    "password = getpass.getpass()",
    'api_key = os.environ["OPENAI_API_KEY"]',
    "api_key=settings.api_key,",
    "API_KEY=${API_KEY}",
    "API_KEY=$(pass show acme/api)",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "password: {{ vault_db_password }}",
    "OPENAI_API_KEY=sk-...",
    "OPENAI_API_KEY=<your key here>",
    "API_KEY=your-api-key-here",
    "PASSWORD=changeme",
    "password: ********",
    "token: xxxxxxxxxxxxxxxx",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "max_tokens=4096",
    "max_tokens: 4096, temperature: 0.2",
    "tokens: 128,000",
    "total_tokens: 182731",
    "pass: 12, fail: 0",
    "12 passed, 3 skipped; pass rate: 80.0%",
    "Tests: PASS",
    "cache key: " + rnd(24, HEX),
    "commit " + rnd(40, HEX),
    "Fixed in " + rnd(7, HEX) + " and " + rnd(10, HEX),
    "sha256: " + rnd(64, HEX),
    "md5 = " + rnd(32, HEX),
    "image: acme/app@sha256:" + rnd(64, HEX),
    '"integrity": "sha512-' + b64(64) + '"',
    '<script integrity="sha384-' + b64(48) + '" crossorigin="anonymous"></script>',
    "![dot](data:image/png;base64,iVBORw0KGgo" + b64(60) + ")",
    "request id: " + guid(),
    "primary key: " + guid(),
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + b64(32)[:43] + " ana@laptop",
    "-----BEGIN PUBLIC KEY-----\n" + b64(48) + "\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\n" + b64(48) + "\n" + b64(48) + "\n-----END CERTIFICATE-----",
    "age public key: age1" + rnd(58, BECH32.lower()),
    "stripe publishable: pk_" + "live_" + rnd(24),
    "パスワードは8文字以上です",
    "密码至少需要12个字符",
    "密码：必填",
    "비밀번호는 8자 이상이어야 합니다",
    "Das Passwort muss mindestens 12 Zeichen lang sein.",
    "Passwort: mindestens 12 Zeichen",
    "La contraseña debe tener al menos 8 caracteres.",
    "Le mot de passe : obligatoire",
    "Пароль: не менее 8 символов",
    "A senha deve conter letras e números.",
    "The password is stored as an argon2 hash.",
    "The password is required before every deploy.",
    "Password reset: see the wiki",
    "Password manager: Bitwarden",
    "Where is the token? Ask Maria: she knows.",
    "Token bucket: 100 requests per minute",
    "Shortcut key: Ctrl+Shift+P",
    "hotkey: cmd+k",
    "key: value",
    "sort key: created_at",
    "foreign_key: user_id",
    "keyboard: German layout",
    "monkey: 3, donkey: 5",
    "key=lambda row: row.created_at",
    "ISBN 978-3-16-148410-0",
    "Version 1.2.3-beta.4+build.2024.05.01",
    "~/.ssh/id_ed25519.pub and /etc/ssl/private/acme.key",
    "ssl_key_file: /etc/ssl/private/acme.key",
    "token_url: https://login.acme.dev/oauth2/token",
    "secretName: acme-tls",
    "password_file: /run/secrets/db_password",
    "kubectl get secret acme-tls -o yaml",
    "passport: keep it with the tickets",
    "bypass: true",
    "compass: north-east",
    "passenger: Maria Schneider",
    "https://acme.dev/reset-password?step=2",
    "https://docs.acme.dev/guides/access-tokens-and-secret-rotation-2024",
    "git@github.com:acme/app.git",
    "mailto:ana@acme.dev",
    "Session 2024-05-01T12:00:00Z: we talked about tokens",
    "The author: Ana; the authority: Bob",
    "Basic authentication is enough for the intranet.",
    "Bearer tokens expire after 15 minutes.",
    "AccountKey is rotated monthly.",
    "The pass over the Alps: Brenner, 1370 m",
    "- [ ] rotate the API key: Friday",
]
SECOND_INNOCENTS += """\
The password for the portal is in 1Password under Acme.
Password: ask Maria
password: see vault
Password policy: 90 days, 12 characters
password: min 12 characters, 1 digit
Passwords were rotated on 2024-05-01.
Password rotation: every 90 days
Password last changed: 2024-05-01
token limit: 200000
token count 12,345
context tokens: 128k
tokens_per_second: 45.2
tokenizer: cl100k_base
tokenizer: BAAI/bge-base-en-v1.5
secret santa: budget 20 EUR
the secret sauce: garlic2go
secretary: Maria Schneider
Key: C major
key: F#m
Key findings: 3 of 12 servers were down
Keyword: kubernetes
key_size: 2048
key = f"{user}:{day}"
key = "user:42:profile"
keys: id, name, created_at
api_key_env: OPENAI_API_KEY
api_key: "${OPENAI_API_KEY}"
apiKey: env:OPENAI_API_KEY
api_key: SecretStr
password: Annotated[str, Field(min_length=12)]
password = request.form["password"]
password = input("Password: ")
if password == confirm_password:
token = jwt.encode(payload, key)
token = secrets.token_hex(32)
token := os.Getenv("TOKEN")
let token = localStorage.getItem('token');
assert token != ""
for token in tokens: print(token)
auth: oauth2
auth: required
author: ana-schneider
authors = ["Ana <ana@acme.dev>"]
Authorization: Bearer {token}
Authorization: Bearer YOUR_TOKEN
-H "Authorization: Bearer $GITHUB_TOKEN"
x-api-key: YOUR_API_KEY
signature: def find(text: str) -> list
sig: Ana
session id: 4f2a
session_id: 20240501-kickoff
sessionKey: agent:main:2024-05-01
cookie: oatmeal
Cookies: 24 pieces, 180 °C
cookie consent banner: version 2.4.1
credentials: same-origin
credential helper: osxkeychain
pass: the salt
pass --verbose to see more
pass the token to the next step
Pass 1: parse; pass 2: link
PASS tests/core/test_redact.py::test_x
passing: 120, failing: 3
All tests pass: 1,204 in 32.1 s
pw: playwright
pwd
passphrase: use four words
passphrase: never reuse the one for the vault
passcode: none
密码：见保险库
密码不能少于8位
密码长度：12
请输入密码
パスワードを忘れた場合
パスワード：8文字以上
비밀번호: 8자 이상
비밀번호 변경: 설정 > 보안
Passwort vergessen? Siehe Wiki.
Das Passwort ist im Tresor.
Passwort: siehe Bitwarden
Passwort ist abgelaufen
contraseña: mínimo 8 caracteres
La contraseña es obligatoria
clave primaria: id
palabra clave: jardín
mot de passe : 12 caractères minimum
mot clé : jardin
mot de passe oublié
senha: mínimo 8 caracteres
palavra-chave: jardim
пароль: минимум 8 символов
ключ к успеху: терпение
ключевые слова: сад, дом
токенов: 128000
The AWS account 123456789012 belongs to us.
arn:aws:secretsmanager:eu-central-1:123456789012:secret:prod/db-AbCdEf
op://Private/GitHub/token
vault kv get secret/data/prod/db
secret/data/prod/db
projects/acme/secrets/db-password/versions/3
s3://acme-backups/2024/05/01/dump.sql.gz
etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
nonce: 4f2a9c
build id 20240501.3-a1b2c3d
docker image acme/app:1.2.3-20240501-a1b2c3d
trace_id=4bf92f3577b34da6a3ce929d0e0e4736 span_id=00f067aa0ba902b7
Fingerprint: SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8
GPG key ID: 3AA5C34371567BD2
key fingerprint = 6A4B 8C2D 1E3F 5A6B 7C8D
public_key: MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
siteKey: 6LeIxAcTAAAAAJcZVRqyHh71UMIEGNQ_MXjiZKhI
next_page_token: CAUQAA
csrf_token: {{ csrf_token() }}
idempotency key: 4f2a9c1e-8b7d-6054-f3e2-d1c0b9a8f7e6
partition_key: "tenant#42"
S3 key: backups/2024/05/01/dump.sql.gz
cache_key = "v3-linux-node-20-3f2a9c1e8b7d6054"
restore-keys: v1-deps-
sort_key=lambda x: x[1]
keymap: vim
license: MIT
license key: see drawer
| Key | Meaning |
| password | string | required |
| `apiKey` | string | the key of the service |
| token | 12 | 4.5 |
""".splitlines()
