import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { nearestName } from '../../plugin/config/nearest.ts'
import { codex, copilot, cursor, gemini } from './command-hosts.ts'
import { hermes, hermesWebhook } from './hermes.ts'
import { claudeCode, qwen } from './http-hosts.ts'
import { valueAt } from './json-config.ts'
import { openclaw } from './openclaw.ts'
import type { HostSetup, InitContext } from './plan.ts'
import { kilo, opencode, pi } from './plugin-file.ts'
import { SDK_CODE, type SdkCode } from './sdk-code.ts'

export interface HostRow {
  readonly setup: HostSetup
  /** Its program names on the PATH; empty if another program has the same name. */
  readonly programs: readonly string[]
  /** The folder is shared with other programs, so this file in it must exist. */
  readonly file?: string
  readonly otherWay?: HostSetup
}

export const HOSTS: ReadonlyMap<string, HostRow> = new Map<string, HostRow>([
  // A Debian package has a `pi` that computes the number.
  ['pi', { setup: pi, programs: [] }],
  ['openclaw', { setup: openclaw, programs: ['openclaw'] }],
  ['opencode', { setup: opencode, programs: ['opencode'] }],
  // `kilo` is also an editor.
  ['kilo', { setup: kilo, programs: ['kilocode'] }],
  // `hermes` is also a JavaScript engine and a blockchain relayer; the latter has its `config.toml` in the same folder.
  ['hermes', { setup: hermes, programs: [], file: 'config.yaml', otherWay: hermesWebhook }],
  ['claude-code', { setup: claudeCode, programs: ['claude'] }],
  ['codex', { setup: codex, programs: ['codex'] }],
  ['cursor', { setup: cursor, programs: ['cursor', 'cursor-agent'] }],
  // AWS has a `copilot`, too.
  ['copilot', { setup: copilot, programs: [] }],
  // Other Google programs use the same folder.
  ['gemini', { setup: gemini, programs: ['gemini'], file: 'settings.json' }],
  ['qwen', { setup: qwen, programs: ['qwen'] }],
])

const DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies']

export interface DetectedAgent<Row> {
  readonly name: string
  readonly row: Row
  readonly sign: string
}

export function hostsHere(surroundings: InitContext): DetectedAgent<HostRow>[] {
  return seen(HOSTS, row => programOf(row, surroundings) ?? folderOf(row, surroundings))
}

export function sdksNear(from: string): DetectedAgent<SdkCode>[] {
  return seen(SDK_CODE, row => row.manifests.map(name => nearest(from, name)).find(path => path && uses(path, row)))
}

function seen<Row>(rows: ReadonlyMap<string, Row>, signOf: (row: Row) => string | undefined): DetectedAgent<Row>[] {
  return [...rows].flatMap(([name, row]) => {
    const sign = signOf(row)
    return sign === undefined ? [] : [{ name, row, sign }]
  })
}

function programOf({ programs }: HostRow, { env }: InitContext): string | undefined {
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(delimiter).filter(isAbsolute)
  const endings = process.platform === 'win32' ? (env['PATHEXT'] ?? '.EXE;.CMD').split(';') : ['']
  const paths = programs.flatMap(name => folders.flatMap(folder => endings.map(end => join(folder, name + end))))
  return paths.find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function folderOf({ setup, file = '' }: HostRow, surroundings: InitContext): string | undefined {
  const path = join(setup.folder(surroundings), file)
  return existsSync(path) ? path : undefined
}

function nearest(from: string, name: string): string | undefined {
  const path = join(from, name)
  if (existsSync(path)) return path
  return dirname(from) === from ? undefined : nearest(dirname(from), name)
}

/** Unreadable files count as not using it: they belong to the project and are not checked here. */
function uses(path: string, { package: name }: SdkCode): boolean {
  try {
    const text = readFileSync(path, 'utf8')
    if (!path.endsWith('.json')) return namesPython(text, name)
    const manifest: unknown = JSON.parse(text)
    return DEPENDENCIES.some(list => valueAt(manifest, [list, name]) !== undefined)
  } catch {
    return false
  }
}

/** Python treats `.`, `-` and `_` in names alike. */
function namesPython(text: string, name: string): boolean {
  const spelled = name.replaceAll('-', '[-_.]')
  return new RegExp(`(?<![\\w.-])${spelled}(?![\\w-]|\\.\\w)`, 'i').test(text)
}

const ALIASES: Readonly<Record<string, string>> = {
  picodingagent: 'pi',
  pimono: 'pi',
  clawdbot: 'openclaw',
  moltbot: 'openclaw',
  anthropic: 'claude-agent-sdk',
  claude: 'claude-code',
  claudecli: 'claude-code',
  claudesdk: 'claude-agent-sdk',
  claudecodesdk: 'claude-agent-sdk',
  hermesagent: 'hermes',
  nousresearch: 'hermes',
  ai: 'ai-sdk',
  vercel: 'ai-sdk',
  vercelai: 'ai-sdk',
  vercelaisdk: 'ai-sdk',
  codexcli: 'codex',
  openaicodex: 'codex',
  cursoragent: 'cursor',
  cursorcli: 'cursor',
  copilotcli: 'copilot',
  githubcopilot: 'copilot',
  locussdk: 'locus',
}

const OTHERS: Readonly<Record<string, string>> = {
  openai: 'there is no adapter for the plain OpenAI client; for the OpenAI Agents SDK: hookspan init openai-agents',
}

export function unknownHost(name: string, hosts: readonly string[]): string {
  const folded = name.toLowerCase().replace(/[^a-z0-9]/g, '')
  const other = Object.hasOwn(OTHERS, folded) ? OTHERS[folded] : undefined
  if (other !== undefined) return other
  const near = nearestName(name, [...hosts, ...Object.keys(ALIASES)])
  const meant = near === undefined ? onlyPart(name.toLowerCase(), hosts) : (ALIASES[near] ?? near)
  const what = `there is no host ${JSON.stringify(name.slice(0, 60))}`
  if (meant !== undefined) return `${what}. Did you mean ${meant}?`
  return `${what}; hosts: ${hosts.join(', ')}. An agent of your own calls its hooks itself: docs/own-agent.md`
}

/** Finds the only host whose name contains a part, for example `agents`. */
function onlyPart(part: string, hosts: readonly string[]): string | undefined {
  const [first, second] = part.length < 3 ? [] : hosts.filter(host => host.includes(part))
  return second === undefined ? first : undefined
}
