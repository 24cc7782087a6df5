import { basename, dirname, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { jsonIn } from '../../agents/event-json.ts'
import { elementsOf, idOf, isArray, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRun, Outcome } from '../../guards/chain.ts'
import type { ConfiguredHooks, HookFolderSettings } from '../../guards/configured-hooks.ts'
import { hookFolderSettings, loadConfiguredHooks, projectOptions } from '../../guards/configured-hooks.ts'
import { type ControlHooks, createHooks } from '../../guards/create-hooks.ts'
import { type LoadedHooks, loadFiles, loadFolder, nameOf, optionsOf } from '../../guards/load-folder.ts'
import { type ModelMessage, PHASE_NAMES, type Phase, type Phases } from '../../guards/phases.ts'
import { type ToolArguments, type ToolCall, toolCallOf } from '../../guards/tool-call.ts'
import {
  pathExists,
  projectFolderAround,
  projectFolderOf,
  readFolder,
  readProjectFolder,
  TrustStore,
} from '../../guards/trust.ts'
import { hookProblems, resolveConfig } from '../../plugin/config/resolve.ts'
import { displayText } from '../../reading/display-text.ts'
import { clipToWidth, displayWidth, padEndToWidth } from '../../reading/display-width.ts'
import { countOf } from '../../reading/human-figures.ts'
import type { Command, CommandArguments, CommandIo, OptionTable } from '../command.ts'
import { command, EXIT, WrongUse, whyNot } from '../command.ts'
import { HOSTS_WITH_ADAPTER, openInput, type ReadRecord, RecordReader } from '../hook-records.ts'
import { confirm } from '../terminal.ts'

function settingsOf(io: CommandIo): HookFolderSettings {
  const resolution = resolveConfig({ env: io.env, home: io.home })
  for (const line of hookProblems(resolution)) io.stderr.write(`hookspan: ${line}\n`)
  return hookFolderSettings(resolution.config, io.env, io.home)
}

async function list(project: string, io: CommandIo): Promise<number> {
  const settings = settingsOf(io)
  const configured = await loadConfiguredHooks(settings, project)
  try {
    const { globalFolder } = settings
    const folder = projectFolderOf(project)
    const isLoaded = configured.loaded.some(({ file }) => file.startsWith(folder))
    const isOff = !isLoaded && configured.notes.length > 0
    io.stdout.write(`Your folder:     ${globalFolder === undefined ? 'none is configured' : there(globalFolder)}\n`)
    io.stdout.write(`Of the project:  ${there(folder)}${isOff ? ' (not loaded: hooks.project_local is off)' : ''}\n`)
    io.stdout.write(`\n${table(configured)}`)
    for (const line of configured.lines) io.stderr.write(`hookspan: ${line}\n`)
    return configured.lines.length === 0 ? EXIT.ok : EXIT.failed
  } finally {
    configured.close()
  }
}

function there(folder: string): string {
  return pathExists(folder) ? folder : `${folder} (does not exist)`
}

/** Without this note, a user would expect the receiver to run the project's hooks. */
const OF_PROJECT = 'Guards of the project run only in programs that call loadHooks({ project }), not in the receiver.\n'

function table({ hooks, loaded, projectFolder }: ConfiguredHooks): string {
  if (hooks === undefined) return 'No hooks are loaded.\n'
  const rows = hooks.hooks.map(({ name, priority, phases, decisions, onFailure }) => {
    const from = loaded.find(({ hook }) => hook.name === name)
    const place = `${from?.file ?? ''}${from?.isIsolated === true ? ' (in a thread)' : ''}`
    return [String(priority), name, phases.join(' '), decisions.join(' '), onFailure, place]
  })
  const isAnyOfProject = loaded.some(({ file }) => projectFolder !== undefined && file.startsWith(projectFolder + sep))
  return `${columns(['priority', 'hook', 'phases', 'decides', 'failing', 'from'], rows)}
Lower priority runs first before an action, and last after it. Guards that rewrite or inject run before the others.
${isAnyOfProject ? OF_PROJECT : ''}`
}

const MAX_CELLS = 120

/** Aligned rows below a header. Untrusted text is escaped, so that it cannot move the cursor. Lines end with a line break. */
function columns(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows.map(row => row.map(cell => clipToWidth(displayText(cell), MAX_CELLS)))]
  const widths = head.map((_, at) => Math.max(...cells.map(row => displayWidth(row[at] ?? ''))))
  const padded = cells.map(row => row.map((cell, at) => padEndToWidth(cell, widths[at] ?? 0)))
  return padded.map(row => `${['', ...row].join('  ').trimEnd()}\n`).join('')
}

async function trustFolder(project: string, hasSaidYes: boolean, io: CommandIo): Promise<number> {
  const settings = settingsOf(io)
  const store = storeOf(settings)
  const found = readProjectFolder(project)
  if (found === undefined) throw new Error(`there is no ${projectFolderOf(project)}`)
  for (const line of found.lines) io.stderr.write(`hookspan: ${line}\n`)
  if (found.lines.length > 0) throw new Error('the folder cannot be trusted as long as that is so')
  const { path, files, hash } = found
  const before = store.hashOf(path)
  const rows = files.map(file => [file.path, countOf(file.bytes.length, 'byte')])
  io.stdout.write(`${displayText(path)}\n${columns(['file', 'size'], rows)}\n`)
  io.stdout.write(`SHA-256 of the names and contents of ${countOf(files.length, 'file')}: ${hash}\n`)
  if (before === hash) {
    io.stdout.write('Trusted already.\n')
    return EXIT.ok
  }
  if (before !== undefined) io.stdout.write('It was trusted before, and has changed since.\n')
  const no = { command: 'hooks', text: 'It is not trusted.', unasked: 'not trusted' }
  if (!hasSaidYes && !(await confirm(QUESTION, no, io))) return EXIT.failed
  store.trust(found)
  io.stdout.write('Trusted. Any change to its files withdraws the trust.\n')
  if (!settings.isProjectLocal) io.stdout.write('It is not loaded yet: set hooks.project_local in the configuration.\n')
  return EXIT.ok
}

function withdraw(project: string, io: CommandIo): number {
  const path = readProjectFolder(project)?.path ?? projectFolderOf(project)
  const wasTrusted = storeOf(settingsOf(io)).revoke(path)
  io.stdout.write(wasTrusted ? `${path} is no longer trusted.\n` : `Nothing to do: ${path} is not trusted.\n`)
  return EXIT.ok
}

function storeOf({ privateFolder }: HookFolderSettings): TrustStore {
  if (privateFolder === undefined) throw new Error('there is no home directory to store trust in')
  return new TrustStore(privateFolder)
}

const QUESTION =
  'Your programs that call loadHooks({ project }) here will run this code as your user; the receiver does not. Have you reviewed it, and do you trust it?'

const MAX_ROWS = 200

async function tryOut(file: string, recording: string, host: string | undefined, io: CommandIo): Promise<number> {
  const settings = settingsOf(io)
  const loaded = await loadOne(file, settings)
  try {
    for (const line of loaded.lines) io.stderr.write(`hookspan: ${line}\n`)
    if (loaded.loaded.length === 0) return EXIT.failed
    const { timeLimitMillis } = settings
    const given = loaded.loaded.map(({ hook }) => hook)
    const trial = new Trial(createHooks(given, { timeLimitMillis }), io)
    const isRead = await readAll(recording, host, trial, io)
    io.stdout.write(trial.report())
    return isRead && loaded.lines.length === 0 ? EXIT.ok : EXIT.failed
  } finally {
    loaded.close()
  }
}

/** Loads a file of a hooks folder like an agent does; any other file from its own place. */
async function loadOne(file: string, settings: HookFolderSettings): Promise<LoadedHooks> {
  const { privateFolder: place, globalFolder } = settings
  const isOwn = globalFolder !== undefined && /^(?!\.\.)./.test(relative(globalFolder, file))
  const folder = isOwn ? globalFolder : projectFolderAround(file)
  const options = isOwn || folder === undefined ? settings.options : projectOptions(settings)
  if (folder !== undefined && place !== undefined) {
    const { files, lines } = readFolder(folder, { followsLinks: isOwn })
    const path = relative(folder, file)
    const loaded = await loadFolder(folder, files, { options, copiesFolder: place, onlyFile: path })
    const notFound = loaded.names.length === 0 ? [`hooks: ${file} is not a loadable file of guards`] : []
    return { ...loaded, lines: [...lines, ...loaded.lines, ...notFound] }
  }
  const path = basename(file)
  return loadFiles([{ shown: file, url: pathToFileURL(file).href, options: optionsOf(path, nameOf(path), options) }])
}

async function readAll(recording: string, host: string | undefined, trial: Trial, io: CommandIo): Promise<boolean> {
  let isWhole = true
  try {
    for await (const entry of new RecordReader(host).read(openInput(recording, io.stdin))) {
      if ('record' in entry) await trial.tryRecord(entry.record)
      else {
        isWhole = false
        io.stderr.write(`hookspan hooks: ${recording} line ${entry.line}: ${entry.problem}; the line is skipped\n`)
      }
    }
    return isWhole
  } catch (error) {
    throw new Error(`cannot read ${recording}: ${whyNot(error)}`, { cause: error })
  }
}

class Trial {
  readonly #hooks: ControlHooks
  readonly #io: CommandIo
  /** Tool calls by id, because their end records often have fewer fields. */
  readonly #calls = new Map<string, ToolCall>()
  readonly #states = new Map<string, Record<string, unknown>>()
  readonly #rows: string[][] = []
  readonly #asked = new Map<Phase, number>()
  /** Counts by text, for example `beforeTurn: no prompt`. */
  readonly #missing = new Map<string, number>()
  readonly #totals = new Map<string, Map<HookRun['verdict'], number>>()

  constructor(hooks: ControlHooks, io: CommandIo) {
    this.#hooks = hooks
    this.#io = io
  }

  async tryRecord(record: ReadRecord): Promise<void> {
    const { hook, payload } = record
    const [phase, build] = (Object.hasOwn(EVENTS, hook) && EVENTS[hook]) || []
    const built = build?.(payload, this.#calls)
    if (phase !== undefined && built !== undefined && this.#hooks.handles(phase)) {
      if (typeof built === 'string') count(this.#missing, `${phase}: no ${built}`)
      else await this.#runHooks(record, phase, built.event, built.what)
    }
    if (hook === 'on_session_end') this.#states.delete(keyOf(record))
  }

  async #runHooks(record: ReadRecord, phase: Phase, event: object, what = ''): Promise<void> {
    const turn = turnOf(record)
    const key = keyOf(record)
    const state = this.#states.get(key) ?? {}
    this.#states.set(key, state)
    const say = (line: string): void => this.#io.stderr.write(`hookspan hooks: ${line}\n`)
    const { host = 'recording' } = record.meta
    const about = { ...turn, host, state, logger: { info: say, warn: say } }
    const outcome: Outcome<Phase> = await this.#hooks.run(phase, event as never, about)
    count(this.#asked, phase)
    for (const run of outcome.runs) {
      const verdicts = this.#totals.get(run.hook) ?? new Map<HookRun['verdict'], number>()
      this.#totals.set(run.hook, verdicts)
      count(verdicts, run.verdict)
      if (run.verdict === 'pass') continue
      const why = run.reason ?? run.failureMessage ?? run.rewrittenFields.join(', ')
      this.#rows.push([turn.turnId ?? turn.sessionId ?? '', phase, what, run.hook, run.verdict, why])
    }
  }

  report(): string {
    const rows = this.#rows.slice(0, MAX_ROWS)
    const more = this.#rows.length - rows.length
    const rest = more > 0 ? `  … and ${countOf(more, 'more decision')}\n` : ''
    const table = rows.length === 0 ? '' : columns(['turn', 'phase', 'what', 'hook', 'verdict', 'why'], rows)
    const runs = countsText(PHASE_NAMES.map(phase => [phase, this.#asked.get(phase)]))
    const missing = countsText([...this.#missing])
    const skipped = this.#missing.size === 0 ? '' : `Skipped, because the recording lacks a field: ${missing}\n`
    const totals = this.#hooks.hooks.map(({ name }) => [name, countsText([...(this.#totals.get(name) ?? [])])])
    return `${table}${rest}${table && '\n'}Runs: ${runs}\n${skipped}\n${columns(['hook', 'decided'], totals)}`
  }
}

function keyOf(record: ReadRecord): string {
  const { sessionId = '', turnId = '' } = turnOf(record)
  return `${sessionId} ${turnId}`
}

function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** `beforeTool 12, afterTool 12` */
function countsText(counts: readonly (readonly [string, number | undefined])[]): string {
  const shown = counts.filter(([, times]) => times !== undefined)
  return shown.map(([word, times]) => `${word} ${times}`).join(', ') || 'never'
}

/** The event of a phase, or the name of the field that the recording lacks. `what` is the tool or the model. */
type Built<P extends Phase> = { readonly event: Phases[P]['event']; readonly what?: string } | string

const MAX_ELEMENTS = 10_000
const GOOD = new Set(['ok', 'success', 'completed'])

function turnOf({ payload }: ReadRecord): { sessionId: string | undefined; turnId: string | undefined } {
  return { sessionId: idOf(peek(payload, 'session_id')), turnId: idOf(peek(payload, 'turn_id')) }
}

type EventBuilder = (payload: unknown, calls: Map<string, ToolCall>) => Built<Phase>

const EVENTS: Readonly<Record<string, readonly [Phase, EventBuilder]>> = {
  pre_llm_call: ['beforeTurn', beforeTurn],
  pre_api_request: ['beforeModel', beforeModel],
  post_api_request: ['afterModel', afterModel],
  api_request_error: ['afterModel', afterModel],
  pre_tool_call: ['beforeTool', beforeTool],
  post_tool_call: ['afterTool', afterTool],
  post_llm_call: ['afterTurn', afterTurn],
}

function beforeTool(payload: unknown, calls: Map<string, ToolCall>): Built<'beforeTool'> {
  const tool = callOf(payload)
  if (tool?.id !== undefined) calls.set(tool.id, tool)
  return tool === undefined ? 'arguments' : { event: { tool }, what: tool.name }
}

function afterTool(payload: unknown, calls: Map<string, ToolCall>): Built<'afterTool'> {
  const id = idOf(peek(payload, 'tool_call_id')) ?? ''
  const tool = callOf(payload) ?? calls.get(id)
  calls.delete(id)
  const result = peek(payload, 'result')
  if (tool === undefined || result === undefined) return tool === undefined ? 'arguments' : 'result'
  const status = textOf(peek(payload, 'status'))
  const isError = status === undefined ? textOf(peek(payload, 'error_message')) !== undefined : !GOOD.has(status)
  return { event: { tool, result, isError, attempt: 0 }, what: tool.name }
}

function beforeTurn(payload: unknown): Built<'beforeTurn'> {
  const prompt = textIn(peek(payload, 'user_message'))
  return prompt === undefined ? 'prompt' : { event: { prompt } }
}

function afterTurn(payload: unknown): Built<'afterTurn'> {
  const answer = textIn(peek(payload, 'assistant_response'))
  return answer === undefined ? 'answer' : { event: { answer, attempt: 0 } }
}

function beforeModel(payload: unknown): Built<'beforeModel'> {
  const body = peek(peek(payload, 'request'), 'body')
  const given = [peek(payload, 'request_messages'), peek(payload, 'messages'), peek(body, 'messages')].find(isArray)
  if (given === undefined) return 'messages'
  const model = textOf(peek(body, 'model')) ?? textOf(peek(payload, 'model'))
  const system = textIn(peek(payload, 'system_prompt'))
  const messages: ModelMessage[] = system === undefined ? [] : [{ role: 'system', text: system }]
  messages.push(...elementsOf(given, MAX_ELEMENTS).map(messageOf))
  return { event: { model, messages }, what: model ?? '' }
}

function afterModel(payload: unknown): Built<'afterModel'> {
  const message = peek(peek(payload, 'response'), 'assistant_message')
  const failure = peek(payload, 'error')
  const status = numberOf(peek(payload, 'status_code'))
  if (message === undefined && failure === undefined && status === undefined) return 'answer'
  const model = textOf(peek(payload, 'response_model')) ?? textOf(peek(payload, 'model'))
  const reason = textOf(peek(failure, 'message')) ?? textOf(failure)
  const [usage, cost] = [peek(payload, 'usage'), peek(payload, 'cost')]
  const event = {
    model,
    text: textIn(peek(message, 'content')) ?? '',
    toolCalls: elementsOf(peek(message, 'tool_calls'), MAX_ELEMENTS).flatMap(each => modelCallOf(each) ?? []),
    attempt: numberOf(peek(payload, 'retry_count')) ?? 0,
    usage: {
      inputTokens: numberOf(peek(usage, 'prompt_tokens')),
      outputTokens: numberOf(peek(usage, 'output_tokens')),
      costUsd: numberOf(cost) ?? numberOf(peek(cost, 'total')),
    },
    ...(message === undefined && { error: { type: textOf(peek(failure, 'type')), status, message: reason } }),
  }
  return { event, what: model ?? '' }
}

const ROLES: Readonly<Record<string, ModelMessage['role']>> = {
  system: 'system',
  developer: 'system',
  assistant: 'assistant',
  tool: 'tool',
  function: 'tool',
}

function messageOf(message: unknown): ModelMessage {
  const role = textOf(peek(message, 'role')) ?? ''
  return { role: (Object.hasOwn(ROLES, role) && ROLES[role]) || 'user', text: textIn(peek(message, 'content')) ?? '' }
}

function callOf(payload: unknown): ToolCall | undefined {
  return namedCall(textOf(peek(payload, 'tool_name')), peek(payload, 'args'), idOf(peek(payload, 'tool_call_id')))
}

function modelCallOf(call: unknown): ToolCall | undefined {
  const inner = peek(call, 'function') ?? call
  const args = peek(inner, 'arguments') ?? peek(inner, 'input')
  return namedCall(textOf(peek(inner, 'name')), args, idOf(peek(call, 'id')))
}

function namedCall(name: string | undefined, given: unknown, id: string | undefined): ToolCall | undefined {
  const args = argumentsIn(given)
  return name === undefined || args === undefined ? undefined : toolCallOf({ name, arguments: args, id })
}

function argumentsIn(given: unknown): ToolArguments | undefined {
  if (typeof given === 'object' && given !== null && !isArray(given)) return given as ToolArguments
  return typeof given === 'string' ? argumentsIn(jsonIn(given)) : undefined
}

function textIn(content: unknown): string | undefined {
  if (typeof content === 'string') return content
  if (!isArray(content)) return undefined
  const texts = elementsOf(content, MAX_ELEMENTS).flatMap(part => textOf(part) ?? textOf(peek(part, 'text')) ?? [])
  return texts.length === 0 ? undefined : texts.join('\n')
}

const OPTIONS = {
  yes: { short: 'y', help: 'trust: do not ask for confirmation' },
  undo: { aka: ['withdraw', 'remove'], help: 'trust: withdraw it' },
  host: { value: 'H', offers: HOSTS_WITH_ADAPTER, help: 'test: default host of records and events' },
} as const satisfies OptionTable

type HooksOptions = CommandArguments<typeof OPTIONS>['values']

export const hooks: Command = hooksOf(() => process.cwd())

export function hooksOf(where: () => string): Command {
  return command({
    name: 'hooks',
    operand: { placeholder: '[trust [FOLDER] | test FILE RECORDING]', offers: ['trust', 'test'] },
    about: `Lists the guards loaded from folders, in the order in which they run, and those that are not loaded, with the reason.

  trust [FOLDER]       shows the files in .hookspan/hooks of a project (the
                       current folder by default), and trusts their content
  test FILE RECORDING  runs the guards of FILE over hook records, as replay
                       reads them (- is standard input), and shows their
                       decisions; nothing else happens`,
    options: OPTIONS,
    closing: `Loading a file runs its code. Exits with 1 if a guard could not be loaded, a folder is not trusted, or a file cannot be
read.`,
    run({ values, operands: [action, ...rest] }, io) {
      const project = where()
      check(action, rest, values)
      if (action === undefined) return list(project, io)
      const [first = '', second = ''] = rest
      if (action === 'test') return tryOut(resolve(project, first), second, values.host, io)
      const folder = projectOf(resolve(project, first))
      return values.undo ? withdraw(folder, io) : trustFolder(folder, values.yes, io)
    },
  })
}

function check(action: string | undefined, rest: readonly string[], { yes, undo, host }: HooksOptions): void {
  if (action !== undefined && action !== 'trust' && action !== 'test')
    throw new WrongUse(`expected trust or test, got ${JSON.stringify(action.slice(0, 60))}`)
  if (action !== 'trust' && (yes || undo)) throw new WrongUse(`--${yes ? 'yes' : 'undo'} is for trust`)
  if (action !== 'test' && host !== undefined) throw new WrongUse('--host is for test')
  if (action === 'trust' && rest.length > 1) throw new WrongUse('trust takes one FOLDER')
  if (action === 'test' && rest.length !== 2) throw new WrongUse('test takes a FILE of hooks and a RECORDING')
}

/** The hooks folder itself stands for its project. */
function projectOf(folder: string): string {
  const project = dirname(dirname(folder))
  return folder === projectFolderOf(project) ? project : folder
}
