import { alnum, hex, upper } from './made-up-tokens.ts'
import { type SecretCase, secret } from './secret-case.ts'

/** What `Authorization` holds, by scheme: the words that may stay, and what is secret. */
interface Scheme {
  readonly scheme: string
  readonly key: string
}

const SCHEME_WORDS =
  'SSWS Splunk GenieKey JWT DPoP AccessKey Session Token ApiKey Api-Key Bot Key OAuth Klaviyo-API-Key Negotiate NTLM Apikey ESAPI SAPISIDHASH Circle-Token Private-Token Custom PSK Shopify Zoho-oauthtoken Lob X-Session Bearer bearer token'.split(
    ' ',
  )

export const SCHEMES: readonly Scheme[] = [
  ...SCHEME_WORDS.map((scheme, at) => ({ scheme: `${scheme} `, key: alnum(32, at + 1) })),
  { scheme: 'Basic ', key: Buffer.from('admin:Tr0ub4dor&3').toString('base64') },
  { scheme: '', key: alnum(40) },
  { scheme: '', key: hex(32) },
  { scheme: 'SharedKey ', key: `acme:${alnum(42)}=` },
  { scheme: 'SharedAccessSignature ', key: `sr=acme.example.net&sig=${alnum(43)}&se=1760000000&skn=owner` },
  { scheme: 'LOW ', key: `${alnum(16)}:${alnum(16, 2)}` },
  { scheme: 'Discogs token=', key: alnum(40, 3) },
  { scheme: 'GoogleLogin ', key: `auth=${alnum(60, 4)}` },
  { scheme: 'AWS ', key: `${upper(20)}:${alnum(28)}` },
]

export interface HeaderForm {
  readonly what: string
  before(name: string): string
  readonly after: string
}

/** How a header is written down. */
export const HEADER_FORMS: readonly HeaderForm[] = [
  { what: 'curl -H, single quotes', before: name => `curl -sS -H '${name}: `, after: "' https://api.example.com/v1" },
  { what: 'curl --header=, double quotes', before: name => `curl --header="${name}: `, after: '" https://x.example' },
  { what: 'a dump', before: name => `GET /v1 HTTP/1.1\r\nHost: x\r\n${name}: `, after: '\r\nAccept: */*\r\n\r\n' },
  {
    what: 'a dump of HTTP/2',
    before: name => `:method: GET\n${name.toLowerCase()}: `,
    after: '\nuser-agent: curl/8.5.0\n',
  },
  { what: 'curl -v', before: name => `> GET / HTTP/2\n> ${name}: `, after: '\n> accept: */*\n' },
  { what: 'one line', before: name => `sent Host: x ${name}: `, after: ' Accept: */*' },
  { what: 'a Python dictionary', before: name => `headers = {'${name}': '`, after: "', 'Accept': '*/*'}" },
  { what: 'a JavaScript object', before: name => `fetch(u, { headers: { "${name}": '`, after: "' } })" },
  { what: 'JSON', before: name => `{"headers":{"${name}":"`, after: '","Accept":"*/*"}}' },
  { what: 'escaped JSON', before: name => `log {\\"${name}\\":\\"`, after: '\\",\\"n\\":1} done' },
  {
    what: 'twice escaped JSON',
    before: name => `log {\\\\\\"${name}\\\\\\":\\\\\\"`,
    after: '\\\\\\",\\\\\\"n\\\\\\":1}',
  },
  { what: 'a list of pairs', before: name => `[["Accept","*/*"],["${name}","`, after: '"]]' },
  { what: 'a list of tuples', before: name => `[('Accept', '*/*'), ('${name}', '`, after: "')]" },
  { what: 'name and value', before: name => `[{"name":"${name}","value":"`, after: '"}]' },
  { what: 'a setter', before: name => `request.setRequestHeader("${name}", "`, after: '")' },
  { what: 'YAML', before: name => `headers:\n  ${name}: `, after: '\n  Accept: "*/*"' },
  { what: 'quoted YAML', before: name => `headers:\n  ${name}: "`, after: '"\n  Accept: "*/*"' },
  { what: 'name and value in YAML', before: name => `- name: ${name}\n  value: `, after: '\n- name: Accept\n' },
]

export const HEADER_NAMES: readonly string[] = ['Authorization', 'Proxy-Authorization', 'authorization']
/** Headers that hold nothing but a key. */
export const KEY_HEADERS: readonly string[] =
  'X-Api-Key X-API-KEY x-goog-api-key Api-Key apikey X-Auth-Token X-Vault-Token Private-Token DD-API-KEY X-Figma-Token Ocp-Apim-Subscription-Key X-Amz-Security-Token'.split(
    ' ',
  )

const SHOWN = /^(?:bearer|basic|token|bot|apikey|api-key|negotiate|ntlm|key|oauth|googlelogin) $/i

function form(at: number): HeaderForm {
  const forms = HEADER_FORMS.filter(({ before }) => before('Authorization').includes('Authorization: '))
  return forms[at % forms.length] as HeaderForm
}

/** Each scheme once, in the forms by turns. */
export const HEADERS: readonly SecretCase[] = [
  ...SCHEMES.map(({ scheme, key }, at) => {
    const { what, before, after } = form(at)
    // In a value of its own quotes it goes with the rest.
    const isShown = SHOWN.test(scheme) && !/["']$/.test(before(''))
    return secret(
      `Authorization with the scheme ${scheme.trim() || 'of nothing'} ${at} in ${what}`,
      before('Authorization') + (isShown ? scheme : ''),
      (isShown ? '' : scheme) + key,
      after,
    )
  }),
  ...KEY_HEADERS.map((name, at) => {
    const { what, before, after } = form(at)
    return secret(`${name} in ${what}`, before(name), alnum(32, at + 7), after)
  }),
  secret(
    'digest authorization',
    'Authorization: Digest ',
    `username="Mufasa", realm="r@example.com", nonce="${hex(32)}", uri="/", response="${hex(32, 2)}"`,
    '\r\nHost: x',
  ),
  secret(
    'Hawk authorization',
    'Authorization: Hawk ',
    `id="${alnum(8)}", ts="1353832234", mac="${alnum(43)}="`,
    '\nHost: x',
  ),
  secret('header set from code', 'req.headers.set("Authorization", "', `SSWS ${alnum(40)}`, '")'),
  secret('header list of a client', "headers=[('X-Api-Key', '", alnum(24), "')]"),
  secret('cookie of a response', 'HTTP/2 200\nset-cookie: ', `sid=${alnum(24)}; Path=/; HttpOnly`, '\ndate: today'),
]
