"""Texts with secrets in public formats, and texts that only look so. Every value is made up from parts at run time."""

from __future__ import annotations

import base64
import random
import string

LETTERS, DIGITS = string.ascii_letters, string.digits
ALNUM = LETTERS + DIGITS
LOWER = string.ascii_lowercase + DIGITS
UPPER = string.ascii_uppercase + DIGITS
HEX = "0123456789abcdef"
URL64 = ALNUM + "-_"
B64 = ALNUM + "+/"
_random = random.Random(20)


def made(length: int, alphabet: str = ALNUM) -> str:
    """A random value that begins with a letter and a digit of its alphabet, so that none comes out as a word."""
    letter = _random.choice([c for c in alphabet if c.isalpha()])
    digit = _random.choice([c for c in alphabet if c.isdigit()])
    return letter + digit + "".join(_random.choice(alphabet) for _ in range(length - 2))


def uuid() -> str:
    return "-".join(made(n, HEX) for n in (8, 4, 4, 4, 12))


def lines64(count: int) -> str:
    return "\n".join(made(64, B64) for _ in range(count))


def block(kind: str, *, newline: str = "\n") -> str:
    text = f"-----BEGIN {kind}-----\n{lines64(4)}\n-----END {kind}-----"
    return text.replace("\n", newline)


# Vendors' own formats: a prefix, in pieces where scanners look for it, and what follows.
TOKENS: dict[str, str] = {
    "openai": "sk-" + made(48),
    "openai old mark": "sk-" + made(20) + "T3Blbk" + "FJ" + made(20),
    "openai project": "sk-" + "proj-" + made(74, URL64) + "T3Blbk" + "FJ" + made(74, URL64),
    "openai service account": "sk-" + "svcacct-" + made(60, URL64),
    "openai admin": "sk-" + "admin-" + made(60, URL64),
    "anthropic": "sk-" + "ant-api03-" + made(93, URL64) + "AA",
    "anthropic admin": "sk-" + "ant-admin01-" + made(93, URL64) + "AA",
    "anthropic oauth": "sk-" + "ant-oat01-" + made(80, URL64),
    "openrouter": "sk-" + "or-v1-" + made(64, HEX),
    "deepseek": "sk-" + made(32, HEX),
    "langfuse": "sk-" + "lf-" + uuid(),
    "langsmith": "lsv2_" + "pt_" + made(32, HEX) + "_" + made(10, HEX),
    "groq": "gsk" + "_" + made(52),
    "xai": "xai" + "-" + made(80),
    "perplexity": "pplx" + "-" + made(48),
    "replicate": "r8" + "_" + made(37),
    "hugging face": "hf" + "_" + made(34),
    "hugging face letters": "hf" + "_" + "".join(_random.choice(LETTERS) for _ in range(34)),
    "hugging face organization": "api_org" + "_" + made(34),
    "voyage": "pa" + "-" + made(43, URL64),
    "jina": "jina" + "_" + made(60),
    "tavily": "tvly" + "-" + made(32),
    "fireworks": "fw" + "_" + made(22),
    "nvidia": "nvapi" + "-" + made(64, URL64),
    "pinecone": "pcsk" + "_" + made(60),
    "elevenlabs": "sk" + "_" + made(48, HEX),
    "cerebras": "csk" + "-" + made(48, LOWER),
    "stripe live": "sk_" + "live_" + made(24),
    "stripe test": "sk_" + "test_" + made(99),
    "stripe restricted": "rk_" + "live_" + made(30),
    "stripe webhook": "whsec" + "_" + made(32),
    "slack bot": "xox" + "b-" + "123456789012-1234567890123-" + made(24),
    "slack user": "xox" + "p-" + "123456789012-123456789012-1234567890123-" + made(32, HEX),
    "slack app": "xapp" + "-1-A" + made(10, UPPER) + "-1234567890123-" + made(64, HEX),
    "slack config": "xoxe." + "xox" + "p-1-" + made(164),
    "slack refresh": "xox" + "e-1-" + made(146),
    "slack browser": "xox" + "c-" + "123456789012-123456789012-1234567890123-" + made(64, HEX),
    "slack cookie": "xox" + "d-" + made(60),
    "github": "gh" + "p_" + made(36),
    "github oauth": "gh" + "o_" + made(36),
    "github user": "gh" + "u_" + made(36),
    "github server": "gh" + "s_" + made(36),
    "github refresh": "gh" + "r_" + made(76),
    "github fine grained": "github" + "_pat_" + made(22) + "_" + made(59),
    "gitlab": "gl" + "pat-" + made(20, URL64),
    "gitlab routable": "gl" + "pat-" + made(27) + ".01." + made(9, LOWER),
    "gitlab deploy": "gl" + "dt-" + made(20, URL64),
    "gitlab runner": "gl" + "rt-" + made(20, URL64),
    "gitlab trigger": "gl" + "ptt-" + made(40, HEX),
    "gitlab job": "gl" + "cbt-1a_" + made(20, URL64),
    "gitlab feed": "gl" + "ft-" + made(20, URL64),
    "gitlab mail": "gl" + "imt-" + made(25, URL64),
    "gitlab agent": "gl" + "agent-" + made(50, URL64),
    "gitlab oauth": "gl" + "oas-" + made(64, URL64),
    "gitlab scim": "gl" + "soat-" + made(20, URL64),
    "gitlab flags": "gl" + "ffct-" + made(20, URL64),
    "gitlab old runner": "GR" + "1348941" + made(20, URL64),
    "bitbucket": "ATBB" + made(32),
    "atlassian": "ATATT3" + "xFfGF0" + made(180, URL64) + "=" + made(8, UPPER),
    "google": "AI" + "za" + "Sy" + made(33, URL64),
    "google client": "GOC" + "SPX-" + made(28, URL64),
    "google oauth": "ya" + "29." + made(120, URL64),
    "google refresh": "1//" + "0" + made(90, URL64),
    "aws": "AK" + "IA" + made(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "aws session": "AS" + "IA" + made(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "aws bedrock": "ABSK" + made(110, B64) + "=",
    "azure client": made(3) + "8Q~" + made(34),
    "azure devops": made(76) + "AZDO" + made(4),
    "sendgrid": "S" + "G." + made(22, URL64) + "." + made(43, URL64),
    "mailgun": "key" + "-" + made(32, HEX),
    "mailchimp": made(32, HEX) + "-us" + "14",
    "brevo": "xkeysib" + "-" + made(64, HEX) + "-" + made(16),
    "resend": "re" + "_" + made(8) + "_" + made(24),
    "postmark in a header": "X-Postmark-Server-Token: " + uuid(),
    "twilio": "S" + "K" + made(32, HEX),
    "telegram": "123456789:" + "AA" + made(33, URL64),
    "discord bot": "M" + made(25, URL64) + "." + made(6, URL64) + "." + made(38, URL64),
    "discord webhook": "https://discord.com/api/web" + "hooks/123456789012345678/" + made(68, URL64),
    "slack webhook": "https://hooks.slack"
    + ".com/services/T"
    + made(8, UPPER)
    + "/B"
    + made(10, UPPER)
    + "/"
    + made(24),
    "teams webhook": "https://acme.webhook.office"
    + f".com/webhookb2/{uuid()}@{uuid()}/IncomingWebhook/"
    + made(32, HEX)
    + "/"
    + uuid(),
    "docker": "dckr" + "_pat_" + made(27, URL64),
    "docker organization": "dckr" + "_oat_" + made(32, URL64),
    "digitalocean": "dop" + "_v1_" + made(64, HEX),
    "digitalocean oauth": "doo" + "_v1_" + made(64, HEX),
    "digitalocean refresh": "dor" + "_v1_" + made(64, HEX),
    "shopify": "shp" + "at_" + made(32, HEX),
    "shopify custom": "shp" + "ca_" + made(32, HEX),
    "shopify private": "shp" + "pa_" + made(32, HEX),
    "shopify shared": "shp" + "ss_" + made(32, HEX),
    "vault": "hv" + "s." + made(95, URL64),
    "vault batch": "hv" + "b." + made(140, URL64),
    "vault recovery": "hv" + "r." + made(30),
    "vault old": "s" + "." + made(24),
    "terraform cloud": made(14) + ".atlas" + "v1." + made(64, URL64),
    "supabase": "sbp" + "_" + made(40, HEX),
    "supabase secret": "sb_" + "secret_" + made(31, URL64),
    "databricks": "dapi" + made(32, HEX),
    "databricks numbered": "dapi" + made(32, HEX) + "-2",
    "age": "AGE-SECRET" + "-KEY-1" + made(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    "npm": "npm" + "_" + made(36),
    "pypi": "pypi" + "-AgEIcHlwaS5vcmc" + made(80, URL64),
    "rubygems": "rubygems" + "_" + made(48, HEX),
    "crates": "cio" + made(32),
    "nuget": "oy2" + made(43, LOWER),
    "clojars": "CLOJARS" + "_" + made(60, LOWER),
    "linear": "lin" + "_api_" + made(40),
    "notion": "ntn" + "_" + "12345678901" + made(35),
    "notion old": "secret" + "_" + made(43),
    "airtable": "pat" + made(14) + "." + made(64, HEX),
    "figma": "figd" + "_" + made(40, URL64),
    "cloudflare origin": "v1.0-" + made(24, HEX) + "-" + made(146, HEX),
    "heroku": "HRKU" + "-AA" + made(58, URL64),
    "netlify": "nfp" + "_" + made(36),
    "vercel": "vcp" + "_" + made(56),
    "vercel blob": "vercel_blob" + "_rw_" + made(16) + "_" + made(30),
    "fly": "fm2" + "_" + made(150, B64),
    "fly old": "fo1" + "_" + made(43, URL64),
    "render": "rnd" + "_" + made(32),
    "sentry user": "sntryu" + "_" + made(64, HEX),
    "sentry organization": "sntrys" + "_eyJpYXQiO" + made(80, B64) + "=_" + made(43, B64),
    "new relic": "NRAK" + "-" + made(27, UPPER),
    "new relic license": made(36, HEX) + "NRAL",
    "new relic insert": "NRII" + "-" + made(32, URL64),
    "grafana": "glsa" + "_" + made(32) + "_" + made(8, HEX),
    "grafana cloud": "glc" + "_" + made(60, B64),
    "postman": "PMAK" + "-" + made(24, HEX) + "-" + made(34, HEX),
    "planetscale": "pscale" + "_tkn_" + made(43, URL64),
    "planetscale password": "pscale" + "_pw_" + made(43, URL64),
    "doppler": "dp" + ".pt." + made(43),
    "doppler service": "dp" + ".st.prd." + made(43),
    "pulumi": "pul" + "-" + made(40, HEX),
    "square": "sq0" + "atp-" + made(22, URL64),
    "square secret": "sq0" + "csp-" + made(43, URL64),
    "square access": "EAAA" + made(60, URL64),
    "paypal braintree": "access_token$" + "production$" + made(16, LOWER) + "$" + made(32, HEX),
    "plaid": "access-" + "production-" + uuid(),
    "alibaba": "LTAI" + made(20),
    "tencent": "AKID" + made(32),
    "yandex": "AQVN" + made(36, URL64),
    "yandex oauth": "y0" + "_" + made(55, URL64),
    "1password": "A3-" + made(6, UPPER) + "-" + made(11, UPPER) + "-" + "-".join(made(5, UPPER) for _ in range(3)),
    "1password service": "ops" + "_eyJ" + made(260),
    "dynatrace": "dt0c01." + made(24, UPPER) + "." + made(64, UPPER),
    "readme": "rdme" + "_" + made(70, LOWER),
    "prefect": "pnu" + "_" + made(36),
    "typeform": "tfp" + "_" + made(59, URL64),
    "easypost": "EZ" + "AK" + made(54),
    "shippo": "shippo" + "_live_" + made(40, HEX),
    "duffel": "duffel" + "_live_" + made(43, URL64),
    "frame.io": "fio" + "-u-" + made(64, URL64),
    "flutterwave": "FLWSECK" + "_TEST-" + made(32, HEX) + "-X",
    "razorpay": "rzp" + "_live_" + made(14),
    "artifactory": "AKCp" + made(69),
    "octopus": "API" + "-" + made(26, UPPER),
    "openshift": "sha256" + "~" + made(43, URL64),
    "tailscale": "tskey" + "-auth-" + made(12) + "-" + made(32),
    "buildkite": "bkua" + "_" + made(40, HEX),
    "circleci": "CCIPAT" + "_" + made(22) + "_" + made(40, HEX),
    "sourcegraph": "sgp" + "_" + made(16, HEX) + "_" + made(40, HEX),
    "posthog": "phx" + "_" + made(43),
    "dropbox": "sl" + "." + made(135, URL64),
    "facebook": "EAAC" + made(120),
    "sonarqube": "squ" + "_" + made(40, HEX),
    "harness": "pat." + made(22) + "." + made(24, HEX) + "." + made(20),
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + made(43, URL64),
    "jwt unsigned": "eyJ" + "hbGciOiJub25lIn0xx" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.",
    "infracost": "ico" + "-" + made(32),
    "bitcoin": "xprv" + made(107),
    "contentful": "CFPAT" + "-" + made(43, URL64),
    "ngrok in a config": "authtoken: 2" + made(26) + "_" + made(20),
    "bcrypt": "$2b" + "$12$" + made(53, ALNUM + "./"),
}

BLOCKS: dict[str, str] = {
    **{
        f"pem {kind or 'PKCS 8'}": block(f"{kind}PRIVATE KEY")
        for kind in ("", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ")
    },
    "pgp": "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n"
    + lines64(4)
    + "\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----",
    "pem in json": '"private_key": "' + block("PRIVATE KEY", newline="\\n") + '\\n",',
    "ppk": "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: ana\nPublic-Lines: 1\nAAAAC3NzaC1lZDI1\n"
    + "Private-Lines: 1\n"
    + made(48, B64)
    + "\nPrivate-MAC: "
    + made(64, HEX),
    "ssh2": "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n" + lines64(3) + "\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
}

# What surrounds a value tells that it is a secret: {} is the value.
PASSWORD = "Tr0ub" + "4dor&3x"
ODD = "s3c,r;3t" + "!Q9"
PLAIN = "hunter" + "22"
NAMED: list[tuple[str, str]] = [
    ("password: {}", PLAIN),
    ("password={}", PASSWORD),
    ("Password: {}", ODD),
    ('"password": "{}"', ODD),
    ("password: '{}'", PASSWORD),
    ("**Password:** {}", PLAIN),
    ("**Password**: {}", PASSWORD),
    ("- Password: `{}`", PLAIN),
    ("* _password_: {}", PLAIN),
    ("| password | {} |", PLAIN),
    ("| DB password | `{}` |", PASSWORD),
    ("The password is {}.", PLAIN),
    ("my wifi password is {}, don't tell", PASSWORD),
    ("the password is `{}`", "sword" + "fish"),
    ("Password for the staging db: {}", PASSWORD),
    ("Wifi password (guests): {}", PLAIN),
    ("passwd = {}", PLAIN),
    ("passphrase: {}", "correct horse" + " battery staple"),
    ("passphrase: {}", "correct-horse-" + "battery-staple"),
    ("DB_PASS={}", PLAIN),
    ("DB_PASSWORD={}", "correct" + "horse"),
    ("MYSQL_PWD={}", PLAIN),
    ("PGPASSWORD={} psql -h db", PLAIN),
    ("export SMTP_PASS='{}'", PASSWORD),
    ("spring.datasource.password={}", PASSWORD),
    ('password = "{}"', ODD),
    ("$password = '{}';", ODD),
    ("'password' => '{}',", PASSWORD),
    ('password := "{}"', PLAIN),
    ("<password>{}</password>", PASSWORD),
    ('<add key="Password" value="{}" />', PASSWORD),
    ("set password {}", PASSWORD),
    ("machine api.example.org login ana password {}", PLAIN),
    ("db.example.org:5432:app:ana:{}", PLAIN),
    ("密码：{}", PLAIN),
    ("密码是{}", PASSWORD),
    ("数据库密码: {}", ODD),
    ("密碼：{}", PLAIN),
    ("パスワード：{}", PLAIN),
    ("パスワードは {} です", PASSWORD),
    ("비밀번호: {}", PLAIN),
    ("пароль: {}", PLAIN),
    ("Пароль от сервера: {}", PASSWORD),
    ("contraseña: {}", PLAIN),
    ("La contraseña es {}", PASSWORD),
    ("Passwort: {}", PLAIN),
    ("Das Passwort ist {}", PASSWORD),
    ("Kennwort = {}", PLAIN),
    ("Mot de passe : {}", PLAIN),
    ("mot de passe: {}", ODD),
    ("Senha: {}", PLAIN),
    ("A senha é {}", PASSWORD),
    ("hasło: {}", PLAIN),
    ("heslo: {}", PLAIN),
    ("wachtwoord: {}", PLAIN),
    ("lösenord: {}", PLAIN),
    ("parola: {}", PLAIN),
    ("密钥：{}", made(24)),
    ("令牌：{}", made(32, HEX)),
    ("токен: {}", made(32, HEX)),
    ("トークン：{}", made(32)),
    ("API-Schlüssel: {}", made(32)),
    ("clé API : {}", made(32)),
    ("SECRET_KEY={}", made(50, ALNUM + "!@#$%^&*(-_=+)")),
    ("SECRET_KEY = 'django-insecure-{}'", made(50, ALNUM + "@#%^&*(-_=+)")),
    ("AWS_SECRET_ACCESS_KEY={}", made(40, B64)),
    ("aws_secret_access_key = {}", "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"),
    ("aws_session_token={}", made(200, B64) + "=="),
    ("TOKEN={}", made(20)),
    ("TOKEN={}", made(12, LOWER)),
    ("token: {}", made(16, LOWER)),
    ("my token is {}", made(24)),
    ('"refresh_token": "{}"', made(40, URL64)),
    ('"access_token":"{}"', made(40, URL64)),
    ('{{"client_secret": "{}", "client_id": "web"}}', made(32)),
    ("clientSecret: {}", made(32)),
    ("api_key = '{}'", made(12, LOWER)),
    ('apiKey: "{}"', made(32)),
    ("API key: {}", made(24)),
    ("OPENAI_API_KEY={}", made(20)),
    ("HEROKU_API_KEY={}", uuid()),
    ("DD_API_KEY={}", made(32, HEX)),
    ("DATADOG_APP_KEY={}", made(40, HEX)),
    ("CLOUDFLARE_API_TOKEN={}", made(40, URL64)),
    ("cloudflare api key: {}", made(37, HEX)),
    ("RAILWAY_TOKEN={}", uuid()),
    ("VERCEL_TOKEN={}", made(24)),
    ("NETLIFY_AUTH_TOKEN={}", made(43, URL64)),
    ("TWILIO_AUTH_TOKEN={}", made(32, HEX)),
    ("OKTA_API_TOKEN=00{}", made(40, URL64)),
    ("AUTH0_CLIENT_SECRET={}", made(64, URL64)),
    ("PAYPAL_CLIENT_SECRET={}", made(80, URL64)),
    ("PLAID_SECRET={}", made(30, HEX)),
    ("TENCENTCLOUD_SECRET_KEY={}", made(32)),
    ("ALIBABA_CLOUD_ACCESS_KEY_SECRET={}", made(30)),
    ("STRIPE_KEY={}", made(24)),
    ("ENCRYPTION_KEY={}", made(44, B64)),
    ("APP_KEY=base64:{}=", made(43, B64)),
    ("JWT_SECRET={}", "supersecret" + "jwtvalue"),
    ("session_secret: {}", made(32, HEX)),
    ("AccountName=acme;AccountKey={}==;EndpointSuffix=core.windows.net", made(86, B64)),
    ("Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={}=", made(43, B64)),
    ("https://acme.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig={}%3D", made(43)),
    ("Server=db;Database=app;User Id=sa;Pwd={};Encrypt=true", PASSWORD),
    ("Server=db;Uid=sa;Password={}", ODD),
    ("jdbc:postgresql://db/app?user=ana&password={}", PLAIN),
    ("postgres://ana:{}@db.internal:5432/app", PLAIN),
    ("postgresql+psycopg://ana:{}@db/app", PASSWORD),
    ("mongodb+srv://ana:{}@cluster0.example.net/app", PLAIN),
    ("redis://:{}@cache:6379/0", PLAIN),
    ("amqp://ana:{}@broker:5672/", PASSWORD),
    ("https://ana:{}@example.org/repo.git", made(20)),
    ("git clone https://oauth2:{}@example.org/x.git", made(20, URL64)),
    ("ftp://ana:{}@files.example.org", PLAIN),
    ("smtp://ana:{}@mail.example.org:587", PASSWORD),
    ("Authorization: Basic {}", base64.b64encode(b"ana:hunter2222").decode()),
    ("Authorization: Bearer {}", made(30, URL64)),
    ("Authorization: Token {}", made(40, HEX)),
    ("Proxy-Authorization: Basic {}", base64.b64encode(b"proxy:s3cretpw").decode()),
    ("curl -H 'X-Api-Key: {}' https://example.org", made(24)),
    ("x-auth-token: {}", made(32)),
    ("curl -u ana:{} https://example.org", PLAIN),
    ("curl --user 'ana:{}' https://example.org", PASSWORD),
    ("mysql -u root -p{} app", PASSWORD),
    ("sshpass -p {} ssh ana@host", PLAIN),
    ("tool --password {} run", PLAIN),
    ("tool --password={} run", PASSWORD),
    ("tool --token {}", made(20)),
    ("tool --api-key '{}'", made(20)),
    ("docker login -u ana -p {} registry.example.org", PLAIN),
    ("redis-cli -h cache -a {}", PASSWORD),
    ("Cookie: sessionid={}; theme=dark", made(32, LOWER)),
    ("Set-Cookie: JSESSIONID={}; Path=/; HttpOnly", made(32, UPPER)),
    ("PHPSESSID={}", made(26, LOWER)),
    ("https://api.example.org/v1?key={}&q=x", made(24)),
    ("https://api.example.org/v1?api_key={}", made(16)),
    ("https://api.example.org/v1?access_token={}", made(24)),
    ("PrivateKey = {}=", made(43, B64)),
    ("private_key: 0x{}", made(64, HEX)),
    ('"auth": "{}"', base64.b64encode(b"ana:hunter2222x").decode()),
    ("//registry.acme.example/:_authToken={}", made(36, LOWER + "-")),
    ("//npm.example.org/:_password={}", base64.b64encode(b"hunter2222").decode()),
    ("webhook_secret: {}", made(32, HEX)),
    ("credentials: {}", made(24)),
    ("master key: {}", made(32)),
    ("license_key: {}", made(25, UPPER)),
    ("mnemonic: {}", "legal winner thank year wave sausage worth useful legal winner thank " + "yellow"),
    ('\\"password\\": \\"{}\\"', PLAIN),
    ("password:\n  {}", PLAIN),
    ("secret: {}", made(20)),
    ("root / {} (password)", PASSWORD),
    ("login: ana / password: {}", PASSWORD),
    ("user=ana pass={}", PASSWORD),
    ("IDENTIFIED BY '{}'", PASSWORD),
    ("ALTER USER ana WITH PASSWORD '{}';", PASSWORD),
    ("net user ana {} /add", PASSWORD),
    ("echo '{}' | docker login --password-stdin", PASSWORD),
    ("sig: TOTP secret {}", made(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")),
    ("otpauth://totp/Acme:ana?secret={}&issuer=Acme", made(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")),
    ('admin_password  = "{}" # tf', PASSWORD),
    ("  password: >-\n    {}", PASSWORD),
    ("[ftp]\nuser = ana\npass = {}", PLAIN),
    ("ansible_become_pass: {}", PASSWORD),
    ("IMAP password → {}", PASSWORD),
    ("pw: {}", PASSWORD),
]


def secret_part(value: str) -> str:
    """Of a URL its end, of a header what follows the name."""
    return value.rsplit("/", 1)[-1] if value.startswith("https:") else value.rsplit(" ", 1)[-1]


SECRETS: list[tuple[str, str]] = [
    *((f"note: {value}", secret_part(value)) for value in TOKENS.values()),
    *((text, secret_part(text.replace("\\n", "\n").split("\n")[-2])) for text in BLOCKS.values()),
    *((text.format(value), value) for text, value in NAMED),
]

_KEY64 = "AAAAC3NzaC1lZDI1NTE5AAAAI" + made(43, B64)
INNOCENTS: list[str] = [
    *"""\
The secret: nobody likes mushrooms
The secret to good bread: patience, water and time.
Secret Santa: 24 Dec, budget 20 EUR
pwd=/home/ana
pwd: /var/lib/memslot
sk-2024-01-15-meeting-notes-berlin
see sk-learn-pipeline-notes-from-march-2024.md
const apiKey = process.env.X
const apiKey = process.env.OPENAI_API_KEY;
api_key = os.environ["OPENAI_API_KEY"]
token = os.getenv("GITHUB_TOKEN")
password: required, at least 12 chars
password: required
Password: optional
password: must be changed every 90 days
Password: 12 characters minimum
password: 8-64 characters
Passwords: see the vault
My password is stored in the vault.
The password is required for all accounts.
The password is case-sensitive.
password: string
password: str
token: string
token: Optional[str] = None
def login(user: str, password: str, token: str | None = None) -> Session:
apiKey?: string;
password: z.string().min(8).max(64)
password = getpass.getpass("Password: ")
password = input("Enter your password: ")
password=${DB_PASSWORD}
password: $DB_PASSWORD
password: "{{ vault_db_password }}"
password: <your-password>
api_key: <your-api-key>
api_key: YOUR_API_KEY
API_KEY=your-api-key-here
api_key: "sk-..."
OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx
token: xxxxxxxxxxxxxxxx
password: ********
password: changeme
password: [redacted]
secret: null
token: none
GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
token=$(cat /run/secrets/token)
secret_name: prod-db-credentials-v2
secretName: memslot-tls-2024
secretKeyRef: name=db-secret-v2
key_file: /etc/ssl/private/server.key
SSL_KEY=/etc/ssl/private/server-2024.key
private_key_path: ~/.ssh/id_ed25519
token_url: https://auth.example.org/oauth2/token
token_type: bearer
tokens: 400
max_tokens=4096
max_tokens: 128000
total_tokens: 15234
chunking.tokens = 400
Token usage: 12,345 of 200,000
tokenizer: cl100k_base
tokenizer=bert-base-uncased-v2
primary key: id
PRIMARY KEY (user_id, created_at)
foreign key: orders.user_id
public_key: ssh-ed25519 {public}
ssh-ed25519 {public} ana@laptop
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7 ana@host
cache_key: user:1234:profile:v2
cache key: 9f86d081884c7d659a2feaa0
idempotency_key: {uuid}
partition_key: tenant-42
sort key: created_at#2024-01-15
keyboard: us-intl, 60 percent
Key: value
key: value
The key: never give up
hotkey: Ctrl+Shift+K
Key takeaways: 3 of 5 goals were met in Q3 2024
key=id,value=name
pass: 12 fail: 3
pass=12 fail=3 skip=1
passed: 120, failed: 3
first pass: 42ms, second pass: 17ms
passport: see the drawer
compass: 270deg
commit {sha1}
git show {sha1}
sha256:{sha256}
sha256: {sha256}
checksum = "{sha256}"
"integrity": "sha512-{b64}=="
md5 d41d8cd98f00b204e9800998ecf8427e empty.txt
id {uuid}
request_id: {uuid}
session: {uuid}
session id: {uuid}
![logo](data:image/png;base64,iVBORw0KGgo{b64})
version 1.2.3-beta.4+build.20240115
v2.10.0-rc1 is out
https://example.org/path:with:colons/and@sign
https://example.org:8080/user@home
https://example.org/?page=2&sort=key&q=token
https://www.youtube.com/watch?v=dQw4w9WgXcQ
git clone git@example.org:team/repo.git
postgres://localhost:5432/app
postgres://user:${PASSWORD}@db/app
postgres://user:password@localhost/app
doi:10.1038/s41586-020-2649-2
https://doi.org/10.1145/3292500.3330701
Phone: +49 30 901820, ext. 12
ISBN 978-3-16-148410-0
IBAN DE89 3704 0044 0532 0130 00
10.0.0.1 db01.internal
hf_hub_download_with_progress is the function to call
npm_config_registry_timeout_seconds is a variable
The github_pat prefix marks a fine-grained token
glpat- is what GitLab's tokens begin with
AKIA is how AWS access keys begin; ASIAN cuisine is good
eyJhbGci alone is not a token
xoxo and kisses from grandma
Bearer tokens are sent in a header
Authorization: Bearer $TOKEN
Authorization: Bearer <token>
Use bearer authentication for this endpoint
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
A key file begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----, says the manual.
-----BEGIN PGP PUBLIC KEY BLOCK-----
-----BEGIN PGP SIGNATURE-----
age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p is the recipient
pk_live keys are public, sk_live keys are not
The Passwort muss mindestens 12 Zeichen haben.
Passwort: siehe Tresor
Passwort: erforderlich
Contraseña: obligatoria
La contraseña es obligatoria
Senha: obrigatória
mot de passe : obligatoire
Mot de passe oublié ?
密码：至少12位
密码：请联系管理员
密码必须每90天更换一次
パスワード：必須
パスワードは8文字以上です
비밀번호: 필수 항목
пароль: обязательное поле
Пароль должен быть не короче 12 символов
ключ к успеху: терпение
La clave: paciencia y trabajo
the token bucket holds 100 tokens per second
Access token lifetime: 3600s
access_token_expires_in: 3600
password_min_length: 12
password_reset_at: 2024-01-15T10:00:00Z
password_hash_algorithm: argon2id
last password change: 2024-01-15
if token == "": raise ValueError
if (token !== undefined) {
self.token = token
this.password = password;
user.password = request.form["password"]
Authorization: required
auth: none
auth: oauth2
secret: true
secrets: inherit
credentials: include
withCredentials: true
Cookie: accepted by default
signature: def f(a: int, b: str) -> None
monkey: bananas-2024
Turkey: 85 million people
turnkey: solution-2024
keynote: 2024-09-09
keys: a1, b2, c3
author: ana2024
Auth0 is used for login: yes
API: https://api.example.org/v1
the api key rotates every ninety days
API keys: rotate every 90 days
--password-file /run/secrets/db
--token-limit 4096
--key value
curl -u "$USER:$PASS" https://example.org
docker run -p 8080:80 nginx
ssh -p 2222 ana@host
mkdir -p build/output
| name | key | type |
| password | string | required |
| token | the token to use |
user,password,role
The password policy: 12+ characters, 1 digit, 1 symbol
passphrase: four or more words
token: see 1Password
Password hint: my first cat
pin: see the drawer
Room key: 3rd floor, desk 12
secret ingredient: cardamom
Who has the token? Ask ana@example.org
""".splitlines(),
]
_VALUES = {
    "{public}": _KEY64,
    "{uuid}": uuid(),
    "{sha1}": made(40, HEX),
    "{sha256}": made(64, HEX),
    "{b64}": made(86, B64),
}
for _mark, _value in _VALUES.items():
    INNOCENTS = [line.replace(_mark, _value) for line in INNOCENTS]

_random.shuffle(order := list(range(len(SECRETS))))
_random.shuffle(other := list(range(len(INNOCENTS))))
KEPT_BACK = frozenset(order[::3])
"""A third of either list, by index, that was not looked at while the rules were written."""
INNOCENTS_KEPT_BACK = frozenset(other[::3])
