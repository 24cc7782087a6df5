import { statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { BACKEND_OPTION, checkBackends } from './backend-option.ts'
import { WrongUse } from './command.ts'
import { whyNot } from './file-trouble.ts'

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

/** @throws WrongUse, or what `parseArgs` throws */
export function readArguments(args: string[]): ReplayArguments {
  const { values, positionals: files } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      out: { type: 'string' },
      'metrics-out': { type: 'string' },
      backend: BACKEND_OPTION,
      host: { type: 'string' },
      speed: { type: 'string' },
      strict: { type: 'boolean', default: false },
    },
  })
  const { out, host, 'metrics-out': metricsOut } = values
  if (files.length === 0) throw new WrongUse('expected a FILE of hook records, or - for standard input')
  if (metricsOut !== undefined && out === undefined) throw new WrongUse('--metrics-out goes with --out')
  if (out !== undefined && values.backend.length > 0) {
    throw new WrongUse('--out sends nothing anywhere, so it takes no --backend')
  }
  checkOutputs(files, out, metricsOut)
  const backends = checkBackends(values.backend)
  return { files, out, metricsOut, backends, host, speed: readSpeed(values.speed), isStrict: values.strict }
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
