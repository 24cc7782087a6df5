/** Programs that use an agent as a library, each run once against a model: what the suites of such agents have in common. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type ModelReply, type ModelRequest, type ModelToolCall, startModelServer } from '../support/model-server.mjs'
import {
  capture,
  type Ended,
  hostNode,
  runHost,
  scratchHome,
  scratchProject,
  type Traces,
  tracesOf,
} from './live-host.ts'

export type Answer = (request: ModelRequest) => ModelReply

/** What a run of the program left. */
export interface Lived<Result> extends Traces {
  readonly home: string
  readonly ended: Ended
  /** What its calls came back with. */
  readonly results: readonly Result[]
}

export const PARIS: ModelToolCall = { name: 'get_weather', arguments: { city: 'Paris' } }
export const ROME: ModelToolCall = { name: 'get_weather', arguments: { city: 'Rome' } }
export const DELETE: ModelToolCall = { name: 'delete_file', arguments: { path: '/a' } }

/** Asks for these calls, and says this once their results are there. */
export function asksFor(calls: NonNullable<ModelReply['toolCalls']>, text: string): Answer {
  return ({ toolResults }) => (toolResults >= calls.length ? { text } : { toolCalls: calls })
}

export const asksForWeather: Answer = asksFor([PARIS], 'It is sunny.')

/** One agent asks for `research`, which is another one. */
export function delegates(research: ModelToolCall, researcher: Answer): Answer {
  const main = asksFor([research], 'It is 42.')
  return request => (request.system.includes('researcher') ? researcher(request) : main(request))
}

/** Runs the program once, with its plan and the address of a model that answers so. */
export async function runProgram<Result>(
  program: string,
  answer: Answer,
  plan: object,
  home: string,
): Promise<Lived<Result>> {
  const server = await startModelServer(answer)
  try {
    const made = join(home, 'project')
    const project = existsSync(made)
      ? made
      : scratchProject(home, { files: { 'program.mjs': program }, withHost: true })
    const whole = JSON.stringify({ prompts: ['What is up?'], url: server.url, ...plan })
    const ended = await runHost(hostNode(), ['program.mjs', whole], { home, cwd: project })
    const lines = ended.stdout.split('\n').filter(line => line.startsWith('{'))
    const results = lines.map(line => JSON.parse(line) as Result)
    return { home, ended, results, ...(await tracesOf(home)) }
  } finally {
    await server.close()
  }
}

/** Runs it, makes a fixture of it where one is wanted, and expects the program to have gone its way undisturbed. */
export async function recorded<Result>(
  host: string,
  scenario: string,
  description: string,
  run: (home: string) => Promise<Lived<Result>>,
): Promise<Lived<Result>> {
  const home = scratchHome()
  const lived = await run(home)
  capture(home, host, scenario, description)
  expect(lived.ended.stderr).not.toContain('hookspan:')
  expect(lived.ended.code).toBe(0)
  return lived
}
