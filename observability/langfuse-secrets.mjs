// Writes observability/langfuse.env for the profile `langfuse` of docker-compose.yml: the passwords of its stores, and a user and a
// project with keys. A file that exists is kept, because the stores keep their passwords, too.
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'

const FILE = new URL('langfuse.env', import.meta.url)
const secret = () => randomBytes(32).toString('hex')
const [postgres, minio] = [secret(), secret()]
const VALUES = {
  SALT: secret(),
  ENCRYPTION_KEY: secret(),
  NEXTAUTH_SECRET: secret(),
  POSTGRES_PASSWORD: postgres,
  DATABASE_PASSWORD: postgres,
  CLICKHOUSE_PASSWORD: secret(),
  REDIS_AUTH: secret(),
  MINIO_ROOT_PASSWORD: minio,
  LANGFUSE_S3_EVENT_UPLOAD_SECRET_ACCESS_KEY: minio,
  LANGFUSE_INIT_ORG_ID: 'hookspan',
  LANGFUSE_INIT_PROJECT_ID: 'hookspan',
  LANGFUSE_INIT_PROJECT_PUBLIC_KEY: `pk-lf-${randomUUID()}`,
  LANGFUSE_INIT_PROJECT_SECRET_KEY: `sk-lf-${randomUUID()}`,
  LANGFUSE_INIT_USER_EMAIL: 'hookspan@example.com',
  LANGFUSE_INIT_USER_NAME: 'hookspan',
  LANGFUSE_INIT_USER_PASSWORD: secret().slice(0, 24),
}
try {
  const lines = Object.entries(VALUES).map(([name, value]) => `${name}=${value}\n`)
  writeFileSync(FILE, lines.join(''), { flag: 'wx', mode: 0o600 })
} catch (error) {
  if (error.code !== 'EEXIST') throw error
}
const written = new Map(
  readFileSync(FILE, 'utf8')
    .split('\n')
    .map(line => line.split('=')),
)
process.stdout.write(`Log in as ${written.get('LANGFUSE_INIT_USER_EMAIL')}, password ${written.get('LANGFUSE_INIT_USER_PASSWORD')}.
For ~/.config/hookspan/config.yaml:

backends:
  - type: langfuse
    base_url: http://127.0.0.1:3001
    public_key: ${written.get('LANGFUSE_INIT_PROJECT_PUBLIC_KEY')}
    secret_key: ${written.get('LANGFUSE_INIT_PROJECT_SECRET_KEY')}
`)
