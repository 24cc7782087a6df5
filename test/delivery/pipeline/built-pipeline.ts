import { spawn } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pipelineSettings } from './pipeline-fixture.ts'

const REPOSITORY = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..')
/** Far above what is promised: it tells a process that hangs from one that is slow. */
const HANG_MILLIS = 45_000

export interface Ended {
  /** Null when it had to be killed. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface Surroundings {
  /** With each module of ours and of the SDK as a file of its own, for what depends on the loaded files. */
  readonly isUnbundled?: boolean
  readonly isOver?: Promise<unknown>
  readonly unread?: 'stdout' | 'stderr'
}

/** The pipeline as compiled, for what can only be seen from a process of its own. */
export class BuiltPipeline {
  readonly #directory: string
  #scripts = 0

  private constructor(directory: string) {
    this.#directory = directory
  }

  static async build(): Promise<BuiltPipeline> {
    const directory = await mkdtemp(join(tmpdir(), 'hookspan-room-'))
    await symlink(join(REPOSITORY, 'node_modules'), join(directory, 'node_modules'))
    await writeFile(join(directory, 'package.json'), '{"type":"module"}')
    return new BuiltPipeline(directory)
  }

  /**
   * Runs the body of a module that finds `createPipeline`, `settings(overrides)`, `report` and `record(pipeline, name)`
   * in scope, to its natural end. What it reads from its standard input ends when `isOver` resolves.
   *
   * @param unread what it writes there nobody reads
   */
  async run(body: string, { isUnbundled = false, isOver, unread }: Surroundings = {}): Promise<Ended> {
    const script = join(this.#directory, `script-${this.#scripts++}.js`)
    await writeFile(script, `${prelude(isUnbundled ? MODULE : BUNDLE)}\n${body}`)
    const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'pipe'], timeout: HANG_MILLIS })
    child.stdin.on('error', () => undefined)
    void Promise.resolve(isOver).then(() => child.stdin.end())
    const output = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].on('data', chunk => {
        output[stream] += String(chunk)
      })
    }
    if (unread !== undefined) child[unread].destroy()
    const code = await new Promise<number | null>(resolve => child.on('close', resolve))
    return { code, ...output }
  }

  async remove(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true })
  }
}

const MODULE = new URL('../../../build/delivery/pipeline/index.js', import.meta.url)
/** Made by `build-once.ts`. */
const BUNDLE = new URL('../../../build/test/pipeline.mjs', import.meta.url)

const prelude = (pipeline: URL): string => `
import { createRequire } from 'node:module'
import { createPipeline } from '${pipeline}'
const require = createRequire(import.meta.url)
const loaded = () => Object.keys(require.cache).flatMap(path => /@opentelemetry\\/([^/]+)/.exec(path)?.[1] ?? [])
const settings = overrides => ({ ...${JSON.stringify(pipelineSettings())}, ...overrides })
const backend = (type, endpoint, more) => ({ type, name: type, endpoint, headers: {}, options: {}, ...more })
const print = line => process.stderr.write(line + '\\n')
const report = { warn: print, error: print, debug: () => {} }
const record = (pipeline, ...names) => {
  for (const name of names) pipeline.tracerProvider.getTracer('test').startSpan(name).end()
}
`
