import { basename, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { HookRun, Outcome } from '../../guards/chain.ts'
import { type HookFolderSettings, projectOptions } from '../../guards/configured-hooks.ts'
import { type ControlHooks, createHooks } from '../../guards/create-hooks.ts'
import { type LoadedHooks, loadFiles, loadFolder, nameOf, optionsOf } from '../../guards/load-folder.ts'
import { PHASE_NAMES, type Phase } from '../../guards/phases.ts'
import { projectFolderAround, readFolder } from '../../guards/trust.ts'
import { countOf } from '../../reading/human-figures.ts'
import { type CommandIo, EXIT } from '../command.ts'
import { whyNot } from '../file-trouble.ts'
import { openInput, RecordReader } from '../hook-records.ts'
import type { ReadRecord } from '../raw-events.ts'
import { columns } from './columns.ts'
import { settingsOf } from './list.ts'
import { type RecordedEvent, RecordedEvents, turnOf } from './recorded-events.ts'

export interface TryOut {
  readonly file: string
  readonly recording: string
  /** The default host of records. */
  readonly host: string | undefined
  readonly project: string
}

const MAX_ROWS = 200

/** Runs the hooks of a file over a recording and prints their decisions. */
export async function tryOut(job: TryOut, io: CommandIo): Promise<number> {
  const settings = settingsOf(io)
  const loaded = await loadOne(resolve(job.project, job.file), settings)
  try {
    for (const line of loaded.lines) io.stderr.write(`hookspan: ${line}\n`)
    if (loaded.loaded.length === 0) return EXIT.failed
    const given = loaded.loaded.map(({ hook }) => hook)
    const trial = new Trial(createHooks(given, { timeLimitMillis: settings.timeLimitMillis }), io)
    const isRead = await readAll(job, trial, io)
    io.stdout.write(trial.report())
    return isRead && loaded.lines.length === 0 ? EXIT.ok : EXIT.failed
  } finally {
    loaded.close()
  }
}

/** Loads a file of a hooks folder like an agent does; any other file from its own place. */
async function loadOne(file: string, settings: HookFolderSettings): Promise<LoadedHooks> {
  const { privateFolder: place, globalFolder } = settings
  const isOwn = globalFolder !== undefined && isIn(globalFolder, file)
  const folder = isOwn ? globalFolder : projectFolderAround(file)
  const options = isOwn || folder === undefined ? settings.options : projectOptions(settings)
  if (folder !== undefined && place !== undefined) {
    const { files, lines } = readFolder(folder, { followsLinks: isOwn })
    const path = relative(folder, file)
    const loaded = await loadFolder(folder, files, { options, copiesFolder: place, onlyFile: path })
    const notFound = loaded.names.length === 0 ? [`hooks: ${file} is no file of hooks that can be loaded`] : []
    return { ...loaded, lines: [...lines, ...loaded.lines, ...notFound] }
  }
  const path = basename(file)
  return loadFiles([{ shown: file, url: pathToFileURL(file).href, options: optionsOf(path, nameOf(path), options) }])
}

function isIn(folder: string, file: string): boolean {
  const way = relative(folder, file)
  return way !== '' && !way.startsWith('..')
}

async function readAll({ recording, host }: TryOut, trial: Trial, io: CommandIo): Promise<boolean> {
  let isWhole = true
  try {
    for await (const entry of new RecordReader(host).read(openInput(recording, io.stdin))) {
      if ('record' in entry) await trial.take(entry.record)
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
  readonly #events = new RecordedEvents()
  readonly #states = new Map<string, Record<string, unknown>>()
  readonly #rows: string[][] = []
  readonly #asked = new Map<Phase, number>()
  /** Counts by text, for example `beforeTurn: no prompt`. */
  readonly #missing = new Map<string, number>()
  /** Counts by hook and verdict. */
  readonly #totals = new Map<string, Map<HookRun['verdict'], number>>()

  constructor(hooks: ControlHooks, io: CommandIo) {
    this.#hooks = hooks
    this.#io = io
  }

  async take(record: ReadRecord): Promise<void> {
    const event = this.#events.of(record)
    if (event !== undefined && this.#hooks.handles(event.phase)) {
      if ('missing' in event) count(this.#missing, `${event.phase}: no ${event.missing}`)
      else await this.#ask(record, event)
    }
    if (record.hook === 'on_session_end') this.#states.delete(keyOf(record))
  }

  async #ask(record: ReadRecord, asked: RecordedEvent): Promise<void> {
    const turn = turnOf(record)
    const say = (line: string): void => this.#io.stderr.write(`hookspan hooks: ${line}\n`)
    const about = {
      ...turn,
      host: record.meta.host ?? 'recording',
      state: this.#stateOf(record),
      logger: { info: say, warn: say },
    }
    const outcome: Outcome<Phase> = await this.#hooks.run(asked.phase, asked.event as never, about)
    count(this.#asked, asked.phase)
    for (const run of outcome.runs) {
      const verdicts = this.#totals.get(run.hook) ?? new Map<HookRun['verdict'], number>()
      this.#totals.set(run.hook, verdicts)
      count(verdicts, run.verdict)
      if (run.verdict === 'pass') continue
      const why = run.reason ?? run.failureMessage ?? run.rewrittenFields.join(', ')
      this.#rows.push([turn.turnId ?? turn.sessionId ?? '', asked.phase, asked.what, run.hook, run.verdict, why])
    }
  }

  #stateOf(record: ReadRecord): Record<string, unknown> {
    const key = keyOf(record)
    const state = this.#states.get(key) ?? {}
    this.#states.set(key, state)
    return state
  }

  report(): string {
    const rows = this.#rows.slice(0, MAX_ROWS)
    const more = this.#rows.length - rows.length
    return [
      rows.length === 0 ? '' : `${columns(['turn', 'phase', 'what', 'hook', 'verdict', 'why'], rows)}`,
      more > 0 ? `  … and ${countOf(more, 'more decision')}\n` : '',
      rows.length === 0 ? '' : '\n',
      `Asked: ${said(PHASE_NAMES.flatMap(phase => entry(phase, this.#asked.get(phase))))}\n`,
      this.#missing.size === 0 ? '' : `Not asked, because the recording has not got it: ${said([...this.#missing])}\n`,
      '\n',
      columns(
        ['hook', 'decided'],
        this.#hooks.hooks.map(({ name }) => [name, said([...(this.#totals.get(name) ?? [])])]),
      ),
    ].join('')
  }
}

function keyOf(record: ReadRecord): string {
  const { sessionId = '', turnId = '' } = turnOf(record)
  return `${sessionId} ${turnId}`
}

function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function entry(word: string, times: number | undefined): [string, number][] {
  return times === undefined ? [] : [[word, times]]
}

/** `beforeTool 12, afterTool 12` */
function said(counts: readonly (readonly [string, number])[]): string {
  return counts.map(([word, times]) => `${word} ${times}`).join(', ') || 'never'
}
