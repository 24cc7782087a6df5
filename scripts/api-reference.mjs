/**
 * Writes the reference of the public API to build/reference: npm run reference
 *
 * From the declarations in `dist`, which have the descriptions of keys and hooks. typedoc needs the API of a TypeScript before 7,
 * which npm fetches beside it: neither is a dependency of the project.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const REPOSITORY = fileURLToPath(new URL('../', import.meta.url))
const PACKAGES = ['typedoc@0.28.20', 'typescript@5.9.3']
const PROGRAM = 'build/reference.json'

const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const entries = [...new Set(Object.values(exports).flatMap(({ types }) => types ?? []))]
const compilerOptions = { module: 'nodenext', strict: true, skipLibCheck: true, types: ['node'], noEmit: true }
writeFileSync(
  new URL(`../${PROGRAM}`, import.meta.url),
  JSON.stringify({ compilerOptions, files: entries.map(path => `../${path}`) }),
)
// A type that no entry exports appears where it is used.
const checks = ['--treatWarningsAsErrors', '--validation.notExported', 'false']
const place = ['--tsconfig', PROGRAM, '--out', 'build/reference', '--readme', 'none', '--includeVersion']
const { status } = spawnSync(
  'npm',
  ['exec', '--yes', ...PACKAGES.map(name => `--package=${name}`), '--', 'typedoc', ...place, ...checks, ...entries],
  { cwd: REPOSITORY, stdio: 'inherit', shell: process.platform === 'win32' },
)
process.exitCode = status ?? 1
