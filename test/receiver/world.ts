import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { readExportLine, type StoredSpan } from '../../src/reading/stored-span.ts'
import { buildForest } from '../../src/reading/trace-forest.ts'
import { outline } from '../../src/reading/tree-outline.ts'
import { openRecorder, type ReceivedEvent, type Recorder } from '../../src/receiver/recorder.ts'
import { afterwards } from '../support/afterwards.ts'
import { OtlpSink } from '../support/otlp-sink.ts'

/** Of `receiver-program.mjs`. */
const PROGRAM = fileURLToPath(new URL('../../build/test/receiver-program.mjs', import.meta.url))
const DAY_MILLIS = 86_400_000

/** A home, with one backend that collects, in which receivers live one behind another. */
export class World {
  readonly home: string = mkdtempSync(join(tmpdir(), 'hookspan-receiver-'))
  readonly lines: string[] = []
  readonly sink: OtlpSink
  /** Of the environment, beside those that say where things are. */
  variables: Readonly<Record<string, string>> = {}

  private constructor(sink: OtlpSink) {
    this.sink = sink
  }

  static async create(settings: Readonly<Record<string, unknown>> = {}): Promise<World> {
    const world = new World(await OtlpSink.start())
    afterwards(() => world.#end())
    const backends = [{ name: 'collecting', type: 'otlp', protocol: 'http/json', endpoint: world.sink.url }]
    // What is awaited here is waited for, however busy the machine is.
    const patient = { force_flush_wait_ms: 60_000, root_span_ttl_ms: DAY_MILLIS }
    writeFileSync(world.#configPath, JSON.stringify({ backends, ...patient, ...settings }), { mode: 0o600 })
    return world
  }

  get env(): Record<string, string> {
    return { ...this.variables, HOOKSPAN_CONFIG: this.#configPath, XDG_STATE_HOME: join(this.home, 'state') }
  }

  get stateDirectory(): string {
    return join(this.home, 'state', 'hookspan', 'receiver')
  }

  get journalPath(): string {
    return join(this.stateDirectory, 'journal', 'journal.jsonl')
  }

  get journal(): string {
    return readFileSync(this.journalPath, 'utf8')
  }

  /** In this process: closed after the test. */
  async open(since: { readonly bootedAt?: number } = {}): Promise<Recorder> {
    const add = (line: string): void => void this.lines.push(line)
    const report = { warn: add, error: add, debug: () => undefined }
    const { env, home, stateDirectory } = this
    const recorder = await openRecorder({ env, home, stateDirectory, report, ...since })
    afterwards(() => recorder.close('end'))
    return recorder
  }

  /** In one of its own. */
  async start(dieAt?: string): Promise<ReceiverProcess> {
    const { env, home, stateDirectory } = this
    return ReceiverProcess.start({ env, home, stateDirectory, dieAt })
  }

  /** Spans of which the trace log has the end. */
  get logged(): StoredSpan[] {
    const directory = join(this.home, 'state', 'hookspan', 'traces')
    // A line that was cut off by a kill has no end.
    const lines = readdirSync(directory).flatMap(name =>
      readFileSync(join(directory, name), 'utf8').split('\n').slice(0, -1),
    )
    return lines.filter(line => line.startsWith('{"resourceSpans"')).flatMap(readExportLine)
  }

  /** What the backend has got. */
  get collected(): StoredSpan[] {
    return this.collectedSince(0)
  }

  /** Without so many requests that came first. */
  collectedSince(request: number): StoredSpan[] {
    const traces = this.sink.requests.slice(request).filter(({ path }) => path.endsWith('/v1/traces'))
    return traces.flatMap(({ body }) => readExportLine(body.toString()))
  }

  /** Checkpoints: empty when nobody is owed anything, and nothing is open that nobody has ended. */
  get spool(): string[] {
    const state = join(this.home, 'state', 'hookspan')
    const kept = join(state, 'kept', 'spool')
    return [...readdirSync(join(state, 'spool')), ...(existsSync(kept) ? readdirSync(kept) : [])]
  }

  get #configPath(): string {
    return join(this.home, 'config.json')
  }

  async #end(): Promise<void> {
    await this.sink.stop()
    rmSync(this.home, { recursive: true, force: true })
  }
}

export class ReceiverProcess {
  readonly #child: ChildProcess
  readonly #answers: AsyncIterator<string>
  readonly #ended: Promise<unknown>

  private constructor(child: ChildProcess) {
    this.#child = child
    this.#ended = new Promise(resolve => child.once('exit', resolve))
    this.#answers = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  }

  static async start(given: object): Promise<ReceiverProcess> {
    const child = spawn(process.execPath, [PROGRAM, JSON.stringify(given)], {
      env: { PATH: process.env['PATH'] },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    afterwards(() => child.kill('SIGKILL'))
    const process_ = new ReceiverProcess(child)
    await process_.#answers.next()
    return process_
  }

  async ask(order: string, given?: unknown): Promise<unknown> {
    this.#send(order, given)
    const { value, done } = await this.#answers.next()
    if (done) throw new Error(`the receiver has ended instead of an answer to ${order}`)
    return (JSON.parse(value) as { answer: unknown }).answer
  }

  take(told: readonly ReceivedEvent[]): Promise<unknown> {
    return this.ask('take', told)
  }

  /** Resolves when it is dead. */
  async die(order: 'die' | 'exit' | 'throw' = 'die'): Promise<void> {
    this.#send(order)
    await this.#ended
  }

  async close(how: 'handover' | 'end'): Promise<void> {
    await this.ask('close', how)
    this.#child.stdin?.end()
    await this.#ended
  }

  /** Of one that ends by itself. */
  ended(): Promise<unknown> {
    return this.#ended
  }

  #send(order: string, given?: unknown): void {
    this.#child.stdin?.write(`${JSON.stringify({ order, given })}\n`)
  }
}

/** Traces as text. */
export function treesOf(spans: readonly StoredSpan[], durations = true): string {
  const attributes = [
    'gen_ai.usage.input_tokens',
    'hermes.turn.number',
    'hermes.turn.final_status',
    'hermes.span.incomplete',
  ]
  return buildForest(spans)
    .map(tree => outline(tree, { attributes, durations }))
    .join('\n\n')
}

/** By its ids, all that is told of a span; a span that is there twice is there twice. */
export function inOrder(spans: readonly StoredSpan[]): StoredSpan[] {
  const key = ({ traceId, spanId }: StoredSpan): string => `${traceId}${spanId}`
  return [...spans].sort((a, b) => key(a).localeCompare(key(b), 'en'))
}

/** Without repeats. */
export function once(spans: readonly StoredSpan[]): StoredSpan[] {
  return [...new Map(spans.map(span => [`${span.traceId}${span.spanId}`, span])).values()]
}
