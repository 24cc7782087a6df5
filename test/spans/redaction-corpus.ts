import { alnum, hex, upper } from './made-up-tokens.ts'

/**
 * Secrets in the surroundings in which agents meet them. Every secret is made
 * up, and put together from pieces, so that no scanner stumbles over this file.
 */

export interface SecretCase {
  readonly what: string
  readonly before: string
  readonly secret: string
  readonly after: string
  /** What the masked text is, where more than the secret goes or a mask needs quotes. Default: before, mask, after. */
  readonly masked?: string
}

function secret(what: string, before: string, value: string, after: string, masked?: string): SecretCase {
  return { what, before, secret: value, after, ...(masked === undefined ? {} : { masked }) }
}

const JWT = `${'eyJ'}hbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.${'eyJ'}zdWIiOiIxMjM0NTY3ODkwIn0.${alnum(43, 3)}`
const PEM_BODY = [1, 2, 3, 4].map(line => alnum(64, line)).join('\n')
const pem = (kind: string, body: string): string =>
  `-----BEGIN ${kind}PRIVATE KEY-----\n${body}\n-----END ${kind}PRIVATE KEY-----`
const BASIC = Buffer.from('admin:Tr0ub4dor&3').toString('base64')

export const SECRETS: readonly SecretCase[] = [
  secret(
    'OpenAI key in a shell command',
    'export OPENAI=x; curl -H "X: ',
    `sk-${alnum(48)}`,
    '" https://api.example.com',
  ),
  secret(
    'OpenAI project key in a log',
    'client created with ',
    `sk-proj-${alnum(40)}_${alnum(40, 2)}-${alnum(20, 3)}`,
    ' ok',
  ),
  secret('OpenAI service key', 'using ', `sk-svcacct-${alnum(60)}`, ' for billing'),
  secret(
    'Anthropic key in a stack trace',
    'Error: 401 for ',
    `sk-ant-api03-${alnum(80)}-${alnum(8)}AA`,
    '\n    at request (client.js:12:3)',
  ),
  secret('OpenRouter key', 'router ', `sk-or-v1-${hex(64)}`, ' set'),
  secret(
    'Langfuse secret key',
    'langfuse: ',
    `sk-lf-${hex(8)}-${hex(4)}-${hex(4, 2)}-${hex(4, 3)}-${hex(12)}`,
    ', host eu',
  ),
  secret(
    'GitHub token in a clone URL',
    'git clone https://x-access-token:',
    `ghp_${alnum(36)}`,
    '@github.com/acme/app.git',
  ),
  secret('GitHub OAuth token in JSON', '{"note":"', `gho_${alnum(36, 2)}`, '","n":1}'),
  secret('GitHub app token', 'got ', `ghs_${alnum(36, 3)}`, ', expires in 1 h'),
  secret('GitHub fine-grained token', 'remote uses ', `github_pat_${alnum(22)}_${alnum(59)}`, '.'),
  secret('GitHub token behind a JSON escape', '{"stdout":"token\\n', `ghp_${alnum(36, 4)}`, '\\nbye"}'),
  secret('GitHub token behind a percent escape', 'GET /x?redirect%3D', `ghp_${alnum(36, 5)}`, '%26y'),
  secret('GitLab token', 'glab auth with ', `glpat-${alnum(20)}`, ' done'),
  secret('GitLab runner token', 'register ', `glrt-t1_${alnum(20)}`, ' --url x'),
  secret('Slack bot token', 'bot ', `xoxb-${'123456789012'}-${'1234567890123'}-${alnum(24)}`, ' joined'),
  secret('Slack app token', 'socket mode: ', `xapp-1-A012345-${'98765'}-${hex(64)}`, ' ok'),
  secret(
    'Slack webhook',
    "curl -d '{}' https://hooks.slack.com/services/",
    `T0${upper(8)}/B0${upper(8)}/${alnum(24)}`,
    ' -s',
  ),
  secret('Discord webhook', 'POST https://discord.com/api/webhooks/', `${'123456789012345678'}/${alnum(60)}`, ' 204'),
  secret('AWS access key id', 'aws_id is ', `AKIA${upper(16)}`, ' in eu-west-1'),
  secret('AWS temporary key id', '<AccessKey>', `ASIA${upper(16, 2)}`, '</AccessKey>'),
  secret(
    'AWS secret key in a credentials file',
    '[default]\naws_secret_access_key = ',
    `${alnum(20)}/${alnum(19, 2)}`,
    '\nregion = eu-west-1',
  ),
  secret(
    'AWS secret key set on the command line',
    'aws configure set aws_secret_access_key ',
    `${alnum(20)}/${alnum(19, 2)}`,
    ' --profile dev',
  ),
  secret('Google API key in a URL', 'https://maps.example.com/api?key=', `AIza${alnum(35)}`, '&q=Paris'),
  secret('Google OAuth token', 'gcloud printed ', `ya29.${alnum(60)}`, ' to stdout'),
  secret('Google client secret', 'client ', `GOCSPX-${alnum(28)}`, ' saved'),
  secret('Hugging Face token', 'huggingface-cli login with ', `hf_${alnum(34)}`, ' ok'),
  secret('npm token in .npmrc', '//registry.example.com/:_authToken=', `npm_${alnum(36)}`, '\nsave-exact=true'),
  secret('PyPI token', 'twine upload -p ', `pypi-AgE${alnum(80)}`, ' dist/*'),
  secret('DigitalOcean token', 'doctl uses ', `dop_v1_${hex(64)}`, ' now'),
  secret('SendGrid key', 'mail via ', `SG.${alnum(22)}.${alnum(43)}`, ' sent'),
  secret('Stripe live key', 'stripe.api = "', `sk_live_${alnum(24)}`, '"'),
  secret('Stripe restricted key', 'rk: ', `rk_live_${alnum(24)}`, ', read only'),
  secret('Stripe webhook secret', 'whsec is ', `whsec_${alnum(32)}`, ' here'),
  secret('Shopify token', 'shop ', `shpat_${hex(32)}`, ' ok'),
  secret('Grafana service token', 'grafana ', `glsa_${alnum(32)}_${hex(8)}`, ' ok'),
  secret('Linear key', 'linear ', `lin_api_${alnum(40)}`, ' ok'),
  secret('xAI key', 'grok with ', `xai-${alnum(80)}`, ' ok'),
  secret('Groq key', 'groq with ', `gsk_${alnum(52)}`, ' ok'),
  secret('Replicate key', 'replicate with ', `r8_${alnum(37)}`, ' ok'),
  secret('Perplexity key', 'perplexity with ', `pplx-${alnum(48)}`, ' ok'),
  secret('Tavily key', 'search with ', `tvly-dev-${alnum(32)}`, ' ok'),
  secret('LangSmith key', 'langsmith with ', `lsv2_pt_${hex(32)}_${hex(10)}`, ' ok'),
  secret('Databricks token', 'dbx ', `dapi${hex(32)}`, ' ok'),
  secret(
    'Telegram bot token in a URL',
    'https://api.telegram.org/bot',
    `${'123456789'}:AA${alnum(33)}`,
    '/sendMessage',
  ),
  secret(
    'Azure storage connection string',
    'DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=',
    `${alnum(86)}==`,
    ';EndpointSuffix=core.windows.net',
  ),
  secret('Azure signed URL', 'https://acme.blob.core.windows.net/x?sv=2024&sig=', `${alnum(40)}%3D`, '&se=2026'),
  secret('AWS signed URL', 'https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature=', hex(64), '&x=1'),
  secret('Vault token', 'vault login ', `hvs.${alnum(90)}`, ' ok'),
  secret('Doppler token', 'doppler run with ', `dp.pt.${alnum(43)}`, ' ok'),
  secret('Docker Hub token', 'docker login with ', `dckr_pat_${alnum(27)}`, ' ok'),
  secret('age key', '# key\n', `AGE-SECRET-KEY-1${upper(58)}`, '\n'),
  secret('Sentry DSN', 'dsn https://', hex(32), '@o1.ingest.sentry.io/42'),
  secret('NVIDIA key', 'nim with ', `nvapi-${alnum(64)}`, ' ok'),
  secret('JWT in a log', 'verified ', JWT, ' for user 7'),
  secret('Mapbox token', 'map with sk.', JWT, ' ok'),
  secret('bearer header of curl', "curl -H 'Authorization: Bearer ", alnum(40), "' https://api.example.com/v1"),
  secret('bearer header in escaped JSON', '{"cmd":"curl -H \\"Authorization: Bearer ', alnum(40), '\\" https://x"}'),
  secret('authorization header in JSON', '{"headers":{"Authorization":"', `Bearer ${alnum(30)}`, '","Accept":"*/*"}}'),
  secret(
    'authorization header of a HTTP dump',
    'GET / HTTP/1.1\r\nauthorization: token ',
    hex(40),
    '\r\nhost: example.com',
  ),
  secret('basic credentials', 'sent header Basic ', BASIC, ' and failed'),
  secret('basic authorization', 'Authorization: Basic ', BASIC, '\nHost: example.com'),
  secret('RSA key', 'cat id_rsa\n', pem('RSA ', PEM_BODY), '\n$ '),
  secret(
    'PKCS8 key in JSON',
    '{"type":"service_account","data":"',
    pem('', PEM_BODY).replaceAll('\n', '\\n'),
    '","n":1}',
  ),
  secret('private key that was cut off', 'key:\n', `-----BEGIN OPENSSH PRIVATE KEY-----\n${PEM_BODY}`, ''),
  secret('private key with a header', '', pem('EC ', `Proc-Type: 4,ENCRYPTED\n\n${PEM_BODY}`), ' end'),
  secret('database URL', 'DATABASE_URL=postgres://', 'app:s3cr3t-pw', '@db.internal:5432/app?sslmode=require'),
  secret('database URL with a strange password', 'connect mongodb+srv://', 'root:p@ss#w?rd', '@cluster0.example.net/x'),
  secret('redis URL without a user', 'redis://', ':hunter2', '@10.0.0.1:6379/0'),
  secret('password in .env', 'DB_HOST=db\nDB_PASSWORD=', 'correct-horse', '\nDB_PORT=5432'),
  secret('password with odd characters', 'SMTP_PASS=', 'a,b;c|d!e(f)', '\nX=1'),
  secret('password that is a word', 'docker run -e POSTGRES_PASSWORD=', 'mysecretpassword', ' -d postgres'),
  secret('password in JSON', '{"user":"bob","password":"', 'hunter2', '","port":5432}'),
  secret('password with escapes in JSON', '{"user":"bob","password":"', 'hun\\"ter\\\\2', '","port":5432}'),
  secret(
    'number as password in JSON',
    '{"password": ',
    '12345',
    ', "port": 5432}',
    '{"password": "[REDACTED]", "port": 5432}',
  ),
  secret(
    'object under a secret key',
    '{"a":1,"credentials":',
    '{"user":"bob","pw":["x]}",{}]}',
    ',"b":2}',
    '{"a":1,"credentials":"[REDACTED]","b":2}',
  ),
  secret('password in JSON inside JSON', '{"arguments":"{\\"password\\":\\"', 'hunter2', '\\",\\"n\\":1}"}'),
  secret(
    'number in JSON inside JSON',
    '{"arguments":"{\\"password\\": ',
    '12345',
    ', \\"n\\":1}"}',
    '{"arguments":"{\\"password\\": \\"[REDACTED]\\", \\"n\\":1}"}',
  ),
  secret('password in a Python dictionary', "{'user': 'bob', 'password': '", 'hunter2', "', 'port': 1}"),
  secret('password in a JavaScript object', "connect({ user: 'bob', password: '", 'hunter2', "', port: 1 })"),
  secret('password in YAML', 'user: bob\npassword: ', 'hunter2', '\nport: 1'),
  secret('password in a keyword argument', 'login(user="bob", password="', 'hunter2', '")'),
  secret('password in XML', '<server><password>', 'hunter2', '</password></server>'),
  secret('password flag', 'mytool --user bob --password ', 'hunter2', ' --verbose'),
  secret('password flag with a sign', 'mytool --password=', 'hunter2', ' --verbose'),
  secret('quoted password flag', 'mytool --db-password "', 'two words', '" --verbose'),
  secret('token flag', 'vercel deploy --token ', 'abcdEFGHijkl', ' --prod'),
  secret('netrc', 'machine example.com login bob password ', 'hunter2', '\n'),
  secret('SQL', "ALTER USER bob WITH PASSWORD '", 'hunter2', "';"),
  secret('API key by name', 'MYAPP_API_KEY=', alnum(24), '\nDEBUG=1'),
  secret('API key in camel case', 'apiKey: "', alnum(24), '", model: "x"'),
  secret('API key header', "-H 'X-Api-Key: ", alnum(24), "' -s"),
  secret('API key in prose', 'Your API key: ', alnum(24), '. Keep it safe.'),
  secret('API key in a query', 'GET /v1/items?api_key=', alnum(24), '&page=2'),
  secret('index assignment', 'os.environ["API_TOKEN"] = "', alnum(24), '"'),
  secret('client secret', '"client_secret" : "', 'short', '"'),
  secret('secret key base', 'SECRET_KEY_BASE=', hex(64), ' rails s'),
  secret('cookie header', 'Cookie: ', `sid=${alnum(20)}; theme=dark`, '\nHost: x'),
  secret('set-cookie in JSON', '{"set-cookie":"', `sid=${alnum(20)}; Path=/; HttpOnly`, '","x":1}'),
  secret('refresh token in a response', '{"refresh_token":"', alnum(30), '","expires_in":3600}'),
  secret('user and password of curl', 'curl -s -u bob:', 'hunter2', ' https://example.com'),
  secret('quoted user and password of curl', 'curl --user "bob:', 'hunter2', '" https://example.com'),
  secret('password of mysql', 'mysqldump -uroot -p', 'hunter2', ' shop > shop.sql'),
  secret('password of sshpass', 'sshpass -p ', 'hunter2', ' ssh bob@example.com'),
  secret('password of redis-cli', 'redis-cli -h cache -a ', 'hunter2', ' keys *'),
  secret('token of letters in an environment', 'FOO_TOKEN=', 'abcdefgh', ' ./run.sh'),
  secret('password of one letter', 'FOO_PASSWORD=', 'a', ' ./run.sh'),
  secret('token header', 'X-Auth-Token: ', 'abcdef', '\r\nHost: x'),
  secret(
    'signed request',
    'Authorization: AWS4-HMAC-SHA256 ',
    `Credential=AKIA${upper(16)}/20261121/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=${hex(64)}`,
    '\nHost: x',
  ),
  secret('git header', 'git -c http.extraheader="AUTHORIZATION: basic ', BASIC, '" push'),
  secret('URL-encoded assignment', 'body=grant%3Dx%26password%3D', 'hunter2', ' end'),
]
