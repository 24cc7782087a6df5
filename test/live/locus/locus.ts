import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { HookRecord } from '../../../src/contract/index.ts'
import { type DrawnRecords, drawRecords } from '../../agents/locus/records.ts'
import { FIXTURES } from '../../agents/shown.ts'
import { startModelServer } from '../../support/model-server.mjs'
import {
  capture,
  hookspanFolder,
  hostCommand,
  isRecording,
  type RunOptions,
  runHost,
  scratchHome,
  tapFile,
} from '../live-host.ts'
import type { Answer } from '../sdk-program.ts'

const PROGRAM = fileURLToPath(new URL('program.py', import.meta.url))

/** What the program is to do. */
export interface Plan {
  /** A run each. */
  readonly prompts?: readonly string[]
  /** The conversation of each; they are used in turns. */
  readonly threads?: readonly (string | null)[]
  readonly at_once?: boolean
  readonly streams?: boolean
  /** Hooks before ours. */
  readonly hooks?: readonly ('policy' | 'guardrails' | 'retry' | 'telemetry')[]
  /** Tools that the policy refuses, has repeated once, or changes. */
  readonly cancels?: string
  readonly repeats?: string
  readonly rewrites?: string
  /** An answer that the policy does not take. */
  readonly discards?: string
  /** Of the loop, of a request that failed. */
  readonly retries?: number
  readonly iterations?: number
  readonly execution?: 'sequential' | 'concurrent'
  /** The run's task is cancelled after so many seconds. */
  readonly cancelled?: number
  /** The answer to whatever the agent asks. */
  readonly asks?: string
  readonly enabled?: boolean
  /** Whole conversations are captured. */
  readonly is_full?: boolean
}

export interface Result {
  readonly output?: string
  readonly stop?: string
  readonly thrown?: string
}

/** A span that Locus's own hook has drawn. */
export interface TheirSpan {
  readonly span: string
  readonly trace: string
  readonly id: string
  readonly parent: string | null
  readonly start: number
  readonly millis: number
}

export interface Lived extends DrawnRecords {
  readonly results: readonly Result[]
  readonly theirs: readonly TheirSpan[]
  readonly records: readonly HookRecord[]
}

/** All traces, spans below their parents: those whose parent was never exported, beside them. */
export function outlineOf(spans: readonly TheirSpan[], hasTimes = false): string {
  const known = new Set(spans.map(({ id }) => id))
  const below = (parent: string | null, depth: number): string[] =>
    spans
      .filter(span => (known.has(span.parent ?? '') ? span.parent : null) === parent)
      .toSorted((one, other) => one.start - other.start)
      .flatMap(({ span, id, parent: of, millis }) => [
        `${'  '.repeat(depth)}${span}${parent === null && of !== null ? ' (its parent was never exported)' : ''}${hasTimes ? `  ${Math.round(millis)} ms` : ''}`,
        ...below(id, depth + 1),
      ])
  return below(null, 0).join('\n')
}

/** Takes hook records on a socket, as hookspan's receiver does. */
async function listen(home: string): Promise<{ records: HookRecord[]; close(): void }> {
  const place = join(home, '.local', 'state', 'hookspan', 'receiver')
  mkdirSync(place, { recursive: true, mode: 0o700 })
  const records: HookRecord[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (part: string) => (text += part))
    request.on('end', () => {
      records.push(...text.split('\n').map(line => JSON.parse(line) as HookRecord))
      response.writeHead(204).end()
    })
  })
  const socket = join(place, 'receiver.sock')
  await new Promise<void>(resolve => server.listen(socket, resolve))
  writeFileSync(join(place, 'token'), 'a1'.repeat(32), { mode: 0o600 })
  writeFileSync(join(place, 'address.json'), JSON.stringify({ socket }), { mode: 0o600 })
  return { records, close: () => server.close() }
}

/** The program's package, where a user's `pip install` would put it. */
function packages(home: string): string {
  const folder = join(home, 'packages')
  if (existsSync(folder)) return folder
  mkdirSync(folder)
  symlinkSync(join(hookspanFolder(), 'integrations', 'locus'), join(folder, 'hookspan_locus'))
  return folder
}

/** The interpreter, its arguments and what it must know, to run the program in a home. */
export function programOf(home: string, url: string, plan: Plan): readonly [string, readonly string[], RunOptions] {
  const whole = JSON.stringify({ prompts: ['What is up?'], url, ...plan })
  const env = {
    PYTHONPATH: packages(home),
    PYTHONDONTWRITEBYTECODE: '1',
    ...(plan.is_full === true ? { HOOKSPAN_CONTENT_CAPTURE: 'full' } : {}),
  }
  return [join(dirname(hostCommand()[0] ?? ''), 'python'), [PROGRAM, whole], { home, env }]
}

/** Runs the program once, and draws what it told. A fixture of it is made where one is wanted. */
export async function lived(scenario: string, description: string, answer: Answer, plan: Plan = {}): Promise<Lived> {
  const home = scratchHome()
  const server = await startModelServer(answer)
  const receiver = await listen(home)
  try {
    const ended = await runHost(...programOf(home, server.url, plan))
    expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code: 0, stderr: '' })
    const { records } = receiver
    if (isRecording()) writeFileSync(tapFile(home), records.map(record => `${JSON.stringify(record)}\n`).join(''))
    if (records.length > 0) capture(home, 'locus', scenario, description)
    const lines = ended.stdout.split('\n').filter(line => line.startsWith('{'))
    const said = lines.map(line => JSON.parse(line) as Result | TheirSpan)
    const theirs = said.filter(each => 'span' in each)
    if (isRecording() && theirs.length > 0) {
      writeFileSync(join(FIXTURES, 'locus', `${scenario}.theirs.txt`), `${outlineOf(theirs, true)}\n`)
    }
    return {
      records,
      theirs,
      results: said.filter((each): each is Result => !('span' in each)),
      ...(await drawRecords(records)),
    }
  } finally {
    receiver.close()
    await server.close()
  }
}
