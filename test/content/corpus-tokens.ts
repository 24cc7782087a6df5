import { alnum, hex, upper } from './made-up-tokens.ts'
import { type SecretCase, secret } from './secret-case.ts'

const lower = (length: number, seed?: number): string => alnum(length, seed).toLowerCase()

/** What vendors' keys look like; nothing in front says that they are keys. */
const FORMS: readonly (readonly [what: string, token: string])[] = [
  ['Airtable', `pat${alnum(14)}.${hex(64)}`],
  ['Bitbucket', `ATBB${alnum(28)}${upper(8)}`],
  ['SonarQube user', `squ_${hex(40)}`],
  ['SonarQube project', `sqp_${hex(40)}`],
  ['Terraform Cloud', `${alnum(14)}.atlasv1.${alnum(67)}`],
  ['Mailgun', `key-${hex(32)}`],
  ['Tailscale', `tskey-auth-${alnum(12)}-${alnum(32)}`],
  ['Brevo', `xkeysib-${hex(64)}-${alnum(16)}`],
  ['Shippo', `shippo_live_${hex(40)}`],
  ['Duffel', `duffel_live_${alnum(43)}`],
  ['Browserbase', `bb_live_${alnum(30)}`],
  ['Paddle', `pdl_live_apikey_${lower(26)}_${alnum(22)}`],
  ['Clojars', `CLOJARS_${lower(60)}`],
  ['Dropbox', `sl.u.${alnum(130)}`],
  ['OpenAI session', `sess-${alnum(40)}`],
  ['Voyage', `pa-${alnum(43)}`],
  ['Neon', `napi_${alnum(64)}`],
  ['Scalingo', `tk-us-${alnum(48)}`],
  ['Yandex', `y0_${alnum(55)}`],
  ['EasyPost', `EZAK${alnum(54)}`],
  ['LaunchDarkly', `sdk-${hex(8)}-${hex(4)}-${hex(4, 2)}-${hex(4, 3)}-${hex(12)}`],
  ['Bedrock', `bedrock-api-key-${alnum(80)}`],
  ['Octopus', `API-${upper(26)}`],
  ['New Relic ingest', `NRII-${alnum(32)}`],
  ['Flutterwave', `FLWSECK-${hex(32)}-X`],
  ['Prefect', `pnu_${alnum(36)}`],
  ['Alibaba Cloud', `LTAI${alnum(20)}`],
  ['Tencent Cloud', `AKID${alnum(32)}`],
  ['Artifactory', `AKCp${alnum(69)}`],
  ['Facebook', `EAA${alnum(120)}`],
  ['OpenShift', `sha256~${alnum(43)}`],
  ['Google refresh token', `1//0${alnum(60)}`],
  ['Discord bot', `M${alnum(23)}.${alnum(6)}.${alnum(30)}`],
  ['Infracost', `ico-${alnum(32)}`],
  ['AWS bedrock', `ABSK${alnum(110)}==`],
  ['Atlassian', `ATATT3xFf${alnum(180)}=${upper(8)}`],
  ['Twilio', `SK${hex(32)}`],
  ['Notion', `ntn_${alnum(46)}`],
  ['Figma', `figd_${alnum(40)}`],
  ['Supabase', `sbp_${hex(40)}`],
  ['Netlify', `nfp_${alnum(40)}`],
  ['Postman', `PMAK-${hex(24)}-${hex(34)}`],
  ['PlanetScale', `pscale_tkn_${alnum(43)}`],
  ['Pinecone', `pcsk_${alnum(60)}`],
  ['E2B', `e2b_${hex(40)}`],
  ['1Password', `ops_${'eyJ'}${alnum(200)}`],
  ['Resend', `re_${alnum(8)}_${alnum(24)}`],
  ['Dynatrace', `dt0c01.${upper(24)}.${upper(64)}`],
  ['Square', `sq0atp-${alnum(22)}`],
  ['Contentful', `CFPAT-${alnum(43)}`],
  ['Pulumi', `pul-${hex(40)}`],
  ['RubyGems', `rubygems_${hex(48)}`],
  ['Sentry user', `sntryu_${hex(64)}`],
  ['Fly', `fo1_${alnum(43)}`],
  ['Cerebras', `csk-${alnum(48)}`],
  ['Fireworks', `fw_${alnum(24)}`],
  ['Jina', `jina_${alnum(60)}`],
  ['Sourcegraph', `sgp_${alnum(40)}`],
  ['Vercel', `vcp_${alnum(56)}`],
  ['Weights & Biases', `wandb_v1_${alnum(77)}`],
]

const AROUND: readonly (readonly [before: string, after: string])[] = [
  ['it is set to ', ' in the panel'],
  ['$ echo ', '\n$ '],
  ['client = Client("', '")'],
  ['got (', '), retrying'],
]

export const VENDOR_TOKENS: readonly SecretCase[] = FORMS.map(([what, token], at) => {
  const [before, after] = AROUND[at % AROUND.length] as readonly [string, string]
  return secret(`${what}'s form`, before, token, after)
})
