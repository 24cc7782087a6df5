import { statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { checkBackends } from './backend-option.ts'
import { whyNot } from './file-trouble.ts'
import { WrongUse } from './options.ts'

export interface ReplayArguments {
  /** `-` is standard input. */
  readonly files: readonly string[]
  readonly out: string | undefined
  readonly metricsOut: string | undefined
  readonly backends: readonly string[]
  readonly host: string | undefined
  readonly speed: number | undefined
  /** What is not read makes the exit code 1. */
  readonly isStrict: boolean
}

/** The options as they were given. */
export interface GivenOptions {
  readonly out: string | undefined
  readonly 'metrics-out': string | undefined
  readonly backend: readonly string[]
  readonly host: string | undefined
  readonly speed: string | undefined
  readonly strict: boolean
}

/** @throws WrongUse */
export function readArguments(files: readonly string[], options: GivenOptions): ReplayArguments {
  const { out, host, backend, 'metrics-out': metricsOut } = options
  if (files.length === 0) throw new WrongUse('expected a FILE of hook records, or - for standard input')
  if (metricsOut !== undefined && out === undefined) throw new WrongUse('--metrics-out goes with --out')
  if (out !== undefined && backend.length > 0) {
    throw new WrongUse('--out sends nothing anywhere, so it takes no --backend')
  }
  checkOutputs(files, out, metricsOut)
  const speed = readSpeed(options.speed)
  return { files, out, metricsOut, backends: checkBackends(backend), host, speed, isStrict: options.strict }
}

function readSpeed(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const speed = Number(text)
  if (text.trim() !== '' && speed > 0 && Number.isFinite(speed)) return speed
  throw new WrongUse(`--speed takes a number above 0, got ${JSON.stringify(text)}`)
}

/** What is written is emptied first: a recording must not go that way by a slip. */
function checkOutputs(files: readonly string[], out: string | undefined, metricsOut: string | undefined): void {
  for (const [option, path] of [['--out', out] as const, ['--metrics-out', metricsOut] as const]) {
    if (path?.trim() === '') throw new WrongUse(`${option} takes a path`)
    const input = path === undefined ? undefined : files.find(file => file !== '-' && isSameFile(file, path))
    if (input !== undefined) throw new WrongUse(`${option} would overwrite ${input}, which is to be read`)
  }
  if (out !== undefined && metricsOut !== undefined && (out === metricsOut || isSameFile(out, metricsOut))) {
    throw new WrongUse('--out and --metrics-out are the same file')
  }
}

function isSameFile(a: string, b: string): boolean {
  const [one, other] = [a, b].map(path => statSync(path, { throwIfNoEntry: false }))
  // Devices and pipes can be read and written at once.
  return one !== undefined && other !== undefined && one.isFile() && one.dev === other.dev && one.ino === other.ino
}

/**
 * Empties the files that are to be written.
 *
 * @throws when one of them cannot be written
 */
export async function prepareOutputs({ out, metricsOut }: ReplayArguments): Promise<void> {
  for (const path of [out, metricsOut]) {
    if (path === undefined) continue
    await writeFile(path, '', { mode: 0o600 }).catch((cause: unknown) => {
      throw new Error(`cannot write ${path}: ${whyNot(cause)}`, { cause })
    })
  }
}
