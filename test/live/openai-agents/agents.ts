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
  readonly api?: 'responses' | 'chat'
  readonly streams?: boolean
  /** Whether its runners are given to `traceRunner`. */
  readonly traced?: boolean
  /** More of the runner's configuration. */
  readonly config?: Readonly<Record<string, unknown>>
  /** A run each, in one conversation. */
  readonly prompts?: readonly string[]
  /** Of the person, on all that is asked; without it a run stays interrupted. */
  readonly choice?: 'once' | 'always' | 'deny'
  /** All runs at once, the n-th in the n-th of the sessions. */
  readonly atOnce?: boolean
  readonly sessions?: readonly string[]
  readonly guarded?: boolean
  /** Registered twice, after a slow processor of somebody else and the host's own. */
  readonly beside?: boolean
  /** The file that the state of the run is saved to, or gone on from. */
  readonly saves?: string
  readonly resumes?: string
}

export interface Lived extends Traces {
  readonly home: string
  readonly ended: Ended
  /** What the runs came back with. */
  readonly results: readonly { readonly output?: string; readonly thrown?: string }[]
}

/** Runs the program once against a model that answers so. */
export async function live(answer: Answer, plan: Plan, home: string = scratchHome()): Promise<Lived> {
  const server = await startModelServer(answer)
  try {
    const made = join(home, 'project')
    const project = existsSync(made)
      ? made
      : scratchProject(home, { files: { 'program.mjs': PROGRAM }, withHost: true })
    const whole = { api: 'responses', streams: false, traced: true, prompts: ['What is up?'], url: server.url, ...plan }
    const ended = await runHost(hostNode(), ['program.mjs', JSON.stringify(whole)], { home, cwd: project })
    const results = ended.stdout
      .split('\n')
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line) as Lived['results'][number])
    return { home, ended, results, ...(await tracesOf(home)) }
  } finally {
    await server.close()
  }
}

export const PARIS: ModelToolCall = { name: 'get_weather', arguments: { city: 'Paris' } }
export const ROME: ModelToolCall = { name: 'get_weather', arguments: { city: 'Rome' } }
const DELETE = { name: 'delete_file', arguments: { path: '/a' } }
const RESEARCH = { name: 'research', arguments: { input: 'What is the answer?' } }

export type Answer = (request: ModelRequest) => ModelReply

/** Asks for these calls, and says this once their results are there. */
export function asksFor(calls: NonNullable<ModelReply['toolCalls']>, text: string): Answer {
  return ({ toolResults }) => (toolResults >= calls.length ? { text } : { toolCalls: calls })
}

export const asksForWeather: Answer = asksFor([PARIS], 'It is sunny.')
export const asksToDelete: Answer = asksFor([DELETE, PARIS], 'Done.')

export function withResearcher(researcher: Answer): Answer {
  const main = asksFor([RESEARCH], 'It is 42.')
  return request => (request.system.includes('researcher') ? researcher(request) : main(request))
}

/** Runs it, makes a fixture of it where one is wanted, and expects the program to have gone its way undisturbed. */
export async function lived(scenario: string, description: string, answer: Answer, plan: Plan): Promise<Lived> {
  const home = scratchHome()
  const run = await live(answer, plan, home)
  capture(home, 'openai-agents', scenario, description)
  expect(run.ended.code).toBe(0)
  expect(run.ended.stderr).not.toContain('hookspan')
  return run
}
