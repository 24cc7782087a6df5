import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import {
  type ModelReply,
  type ModelRequest,
  type ModelToolCall,
  startModelServer,
} from '../../support/model-server.mjs'
import {
  capture,
  type Ended,
  hostNode,
  runHost,
  scratchHome,
  scratchProject,
  type Traces,
  tracesOf,
} from '../live-host.ts'

const PROGRAM = readFileSync(new URL('program.mjs', import.meta.url), 'utf8')

/** What the program is to do. */
export interface Plan {
  readonly kind?: 'generate' | 'stream' | 'agent' | 'object' | 'streamObject' | 'embed'
  /** A call each. */
  readonly prompts?: readonly string[]
  readonly atOnce?: boolean
  /** The `sessionId` in the context of the calls, and what else is told of it. */
  readonly session?: string
  readonly context?: Readonly<Record<string, unknown>>
  readonly functionId?: string
  /** How far a stream is read. Absent = to its end. */
  readonly reads?: 'none' | 'some' | 'aborted'
  /** Of the person, on all that is asked; without it a call stays interrupted. */
  readonly choice?: 'once' | 'deny'
  /** What decides about the file that is to be deleted, instead of a person. */
  readonly policy?: 'approved' | 'denied'
  /** Whether the answer is to be an object. */
  readonly structured?: boolean
  readonly maxRetries?: number
  /** More of the telemetry settings of each call. */
  readonly telemetry?: Readonly<Record<string, unknown>>
  /** Registered twice, with the SDK's own OpenTelemetry and one that throws. */
  readonly beside?: boolean
  /** The file that what waits for a person is saved to, or gone on from. */
  readonly saves?: string
  readonly resumes?: string
}

export interface Lived extends Traces {
  readonly ended: Ended
  /** What the calls came back with. */
  readonly results: readonly { readonly output?: unknown; readonly thrown?: string; readonly theirs?: number }[]
}

export type Answer = (request: ModelRequest) => ModelReply

export const PARIS: ModelToolCall = { name: 'get_weather', arguments: { city: 'Paris' } }
export const ROME: ModelToolCall = { name: 'get_weather', arguments: { city: 'Rome' } }
export const DELETE: ModelToolCall = { name: 'delete_file', arguments: { path: '/a' } }
const RESEARCH = { name: 'research', arguments: { question: 'What is the answer?' } }

/** Asks for these calls, and says this once their results are there. */
export function asksFor(calls: NonNullable<ModelReply['toolCalls']>, text: string): Answer {
  return ({ toolResults }) => (toolResults >= calls.length ? { text } : { toolCalls: calls })
}

export const asksForWeather: Answer = asksFor([PARIS], 'It is sunny.')

export function withResearcher(researcher: Answer): Answer {
  const main = asksFor([RESEARCH], 'It is 42.')
  return request => (request.system.includes('researcher') ? researcher(request) : main(request))
}

/** Runs the program once against a model that answers so. */
export async function live(answer: Answer, plan: Plan, home: string): Promise<Lived> {
  const server = await startModelServer(answer)
  try {
    const made = join(home, 'project')
    const project = existsSync(made)
      ? made
      : scratchProject(home, { files: { 'program.mjs': PROGRAM }, withHost: true })
    const whole = { kind: 'generate', prompts: ['What is up?'], maxRetries: 0, url: server.url, ...plan }
    const ended = await runHost(hostNode(), ['program.mjs', JSON.stringify(whole)], { home, cwd: project })
    const results = ended.stdout
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line) as Lived['results'][number])
    return { ended, results, ...(await tracesOf(home)) }
  } finally {
    await server.close()
  }
}

/** Runs it, makes a fixture of it where one is wanted, and expects the program to have gone its way undisturbed. */
export async function lived(scenario: string, description: string, answer: Answer, plan: Plan = {}): Promise<Lived> {
  const home = scratchHome()
  const run = await live(answer, plan, home)
  capture(home, 'ai-sdk', scenario, description)
  expect(run.ended.stderr).not.toContain('hookspan:')
  expect(run.ended.code).toBe(0)
  return run
}
